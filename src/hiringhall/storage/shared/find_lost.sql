-- Workers that are offline and for which alone something is ready.
SELECT DISTINCT p.worker
FROM pulse AS p
JOIN lane AS l ON l.key = 'worker:' || p.worker
WHERE p.offline = 1 AND EXISTS (SELECT 1 FROM work AS w WHERE w.lane = l.id AND w.state = {ready})
LIMIT :limit
