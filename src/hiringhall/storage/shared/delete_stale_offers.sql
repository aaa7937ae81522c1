-- Forget offers that were not locked in time.
DELETE FROM offer WHERE (worker, work) IN (SELECT worker, work FROM offer WHERE offered_at < :before LIMIT :limit)
RETURNING work
