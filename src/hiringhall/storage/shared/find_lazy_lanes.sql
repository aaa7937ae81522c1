-- The lanes whose calls a lazy worker could be woken for.
SELECT DISTINCT l.key
FROM service_worker AS sw
JOIN fit AS f ON f.worker = sw.worker
JOIN lane AS l ON l.id = f.lane
WHERE sw.run_mode = 'lazy' AND sw.leaving = 0
ORDER BY l.key
LIMIT :limit
