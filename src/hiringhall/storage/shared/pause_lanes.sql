-- Stop or go on handing out what is in the lanes of a service, and tell how much that is, counted up to a limit.
UPDATE lane SET paused = :paused WHERE service = :service
RETURNING key, (
    SELECT count(*) FROM (SELECT 1 FROM work AS w WHERE w.lane = lane.id AND w.state = {ready} LIMIT :limit) AS some_ready
)
