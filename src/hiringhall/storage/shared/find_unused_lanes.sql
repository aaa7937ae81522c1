-- Lanes of calls made before a time in which there is no call.
SELECT l.id FROM lane AS l
WHERE l.method IS NOT NULL AND l.made_at < :before AND NOT EXISTS (SELECT 1 FROM request AS r WHERE r.lane = l.id)
LIMIT :limit
