-- The idempotency record of an answer to one hand-over.
SELECT key, body FROM answer WHERE work = :work AND worker = :worker AND version = :version
