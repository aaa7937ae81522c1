-- What waits in the own lane of a worker, or for its next attempt there.
SELECT w.id
FROM lane AS l
JOIN request AS r ON r.lane = l.id
JOIN work AS w ON w.id = r.work
WHERE l.key {any:keys text} AND (w.state = {ready} OR w.retry_at IS NOT NULL)
