-- Stop or go on handing out what is in a lane.
UPDATE lane SET paused = :paused WHERE key = :key
RETURNING id
