-- The children of some broadcasts that have not ended.
SELECT r.work FROM request AS r JOIN work AS w ON w.id = r.work
WHERE r.parent {any:parents bigint} AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
