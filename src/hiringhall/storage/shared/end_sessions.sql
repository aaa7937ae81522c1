-- End the logins of a worker.
UPDATE session SET ended_at = :now WHERE service = :service AND subject = :subject AND ended_at IS NULL
RETURNING sid
