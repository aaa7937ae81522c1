-- A call and, of a broadcast, its children that have not ended.
SELECT r.work FROM request AS r WHERE r.request_id = :request_id
UNION ALL
SELECT child.work
FROM request AS r
JOIN request AS child ON child.parent = r.work
JOIN work AS w ON w.id = child.work
WHERE r.request_id = :request_id AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
