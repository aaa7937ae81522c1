-- Differs: by the places of the rows.
-- Forget old feedback that need not persist.
DELETE FROM feedback WHERE ctid = ANY (ARRAY(SELECT ctid FROM feedback WHERE pr = 0 AND at < :before LIMIT :limit))
RETURNING work
