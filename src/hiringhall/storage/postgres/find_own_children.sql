-- Differs: each is looked up by itself, never joined in bulk.
-- What waits in the own lane of a worker, or for its next attempt there.
SELECT w.id
FROM lane AS l
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.lane = l.id OFFSET 0) AS r
CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w
WHERE l.key {any:keys text} AND (w.state = {ready} OR w.retry_at IS NOT NULL)
