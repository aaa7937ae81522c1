-- Which call an Idempotency-Key stands for.
SELECT body, request_id FROM submission WHERE key = :key
