-- One delivery of work to a worker, with its cause.
INSERT INTO hand_over (worker, task_id, version, work, plan, cause, at, key)
VALUES (:worker, :task_id, :version, :work, :plan, :cause, :at, :key)
