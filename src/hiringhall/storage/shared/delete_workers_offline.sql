-- Forget workers that have been offline for long and hold nothing.
DELETE FROM worker
WHERE key IN (
    SELECT p.worker FROM pulse AS p
    WHERE p.offline = 1 AND p.last_seen < :before AND (p.last_seen < :before_services OR p.worker NOT LIKE 'service:%')
        AND NOT EXISTS (SELECT 1 FROM work AS w WHERE w.holder = p.worker)
    ORDER BY p.last_seen
    LIMIT :limit
)
RETURNING key
