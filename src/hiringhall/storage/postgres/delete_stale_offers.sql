-- Differs: by the places of the rows.
-- Forget offers that were not locked in time.
DELETE FROM offer WHERE ctid = ANY (ARRAY(SELECT ctid FROM offer WHERE offered_at < :before LIMIT :limit))
RETURNING work
