-- Whether a worker may be given the calls of a lane.
SELECT CAST(:ordinal AS integer) FROM fit WHERE worker = :worker AND lane = :lane
