-- Calls that ended before a time; a child of a broadcast is needed as long as that goes on.
SELECT a.work
FROM result AS a
JOIN request AS r ON r.work = a.work
JOIN work AS w ON w.id = a.work
WHERE a.at < :before AND w.state IN {final} AND w.retry_at IS NULL
    AND NOT EXISTS (SELECT 1 FROM work AS up WHERE up.id = r.parent AND up.state = {waiting})
ORDER BY a.at
LIMIT :limit
