-- Remember the idempotency key of an accepted answer.
INSERT INTO answer (work, worker, version, key, body) VALUES (:work, :worker, :version, :key, :body)
ON CONFLICT DO NOTHING
