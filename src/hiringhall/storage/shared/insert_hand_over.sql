-- One delivery of work to a worker, with its cause.
INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at, key)
VALUES (:worker, :name, :version, :work, :lane_key, :cause, :at, :key)
