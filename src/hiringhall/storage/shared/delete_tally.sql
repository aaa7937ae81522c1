-- Take the deltas of one count away, to be replaced by their sum.
DELETE FROM tally WHERE lane = :lane AND state = :state
RETURNING n
