-- The calls of a service that have not ended.
SELECT w.id, r.request_id
FROM lane AS l
JOIN request AS r ON r.lane = l.id
JOIN work AS w ON w.id = r.work
WHERE l.service = :service AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
ORDER BY w.id
