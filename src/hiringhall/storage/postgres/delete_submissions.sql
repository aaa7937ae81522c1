-- Differs: by the places of the rows.
-- Forget old idempotency records.
DELETE FROM submission WHERE ctid = ANY (ARRAY(SELECT ctid FROM submission WHERE at < :before LIMIT :limit))
RETURNING work
