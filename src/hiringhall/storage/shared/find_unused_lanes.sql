-- Lanes of services made before a time in which there is no call, but for the own lanes of workers that there are.
SELECT l.id FROM lane AS l
WHERE l.service IS NOT NULL AND l.made_at < :before
    AND (SELECT r.work FROM request AS r WHERE r.lane = l.id LIMIT 1) IS NULL
    AND (l.method IS NOT NULL OR (SELECT sw.worker FROM service_worker AS sw WHERE sw.worker = substr(l.key, 8)) IS NULL)
LIMIT :limit
