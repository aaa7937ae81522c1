-- Workers by key.
SELECT w.key, w.hostname, w.token_hash IS NOT NULL, w.quiet, w.terminate, w.registered_at, p.last_seen, p.last_beat,
    coalesce(p.offline, 0), NULL, w.token_hash
FROM worker AS w LEFT JOIN pulse AS p ON p.worker = w.key
WHERE w.key {any:workers text}
