-- Forget the counts of a lane.
DELETE FROM tally WHERE lane = :lane
