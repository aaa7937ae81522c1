-- Forget old feedback that need not persist.
DELETE FROM feedback
WHERE (work, number) IN (SELECT work, number FROM feedback WHERE pr = 0 AND at < :before LIMIT :limit)
RETURNING work
