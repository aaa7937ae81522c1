-- A worker may be given the calls of a lane.
INSERT INTO fit (worker, lane) VALUES (:worker, :lane)
