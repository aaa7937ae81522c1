-- Forget a worker.
DELETE FROM worker WHERE key = :key
RETURNING key
