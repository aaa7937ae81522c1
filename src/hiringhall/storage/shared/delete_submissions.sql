-- Forget old idempotency records.
DELETE FROM submission WHERE key IN (SELECT key FROM submission WHERE at < :before LIMIT :limit)
RETURNING work
