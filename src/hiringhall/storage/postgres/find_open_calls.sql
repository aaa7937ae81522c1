-- Differs: each is looked up by itself, never joined in bulk.
-- The calls of a service that have not ended.
SELECT w.id, r.request_id
FROM lane AS l
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.lane = l.id OFFSET 0) AS r
CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w
WHERE l.service = :service AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
ORDER BY w.id
