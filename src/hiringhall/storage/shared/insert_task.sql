-- Store what never changes of a task while it is worked on.
INSERT INTO task (work, lane, task_id, policy, detail, digest, seq, made_at, made_as)
VALUES (:work, :lane, :task_id, :policy, :detail, :digest, :seq, :made_at, :made_as)
