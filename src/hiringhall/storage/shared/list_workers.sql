-- A page of workers and how many units each holds.
SELECT w.key, w.hostname, w.token_hash IS NOT NULL, w.quiet, w.terminate, w.registered_at, p.last_seen, p.last_beat,
    coalesce(p.offline, 0), (SELECT count(*) FROM work AS u WHERE u.holder = w.key), NULL
FROM worker AS w LEFT JOIN pulse AS p ON p.worker = w.key
WHERE w.key > :after
ORDER BY w.key
LIMIT :limit
