-- Differs: each is looked up by itself, never joined in bulk.
-- The children of some broadcasts that have not ended.
SELECT r.work FROM request AS r CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w
WHERE r.parent {any:parents bigint} AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
