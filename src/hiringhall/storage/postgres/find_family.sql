-- Differs: each is looked up by itself, never joined in bulk.
-- A call and, of a broadcast, its children that have not ended.
WITH asked AS MATERIALIZED (
    SELECT r.work FROM request AS r WHERE r.request_id = :request_id
)
SELECT asked.work FROM asked
UNION ALL
SELECT child.work
FROM asked
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.parent = asked.work OFFSET 0) AS child
CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = child.work OFFSET 0) AS w
WHERE (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
