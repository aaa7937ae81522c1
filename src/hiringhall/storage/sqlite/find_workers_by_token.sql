-- Workers by the hash of their token.
SELECT w.key, w.hostname, w.token_hash IS NOT NULL, w.quiet, w.terminate, w.registered_at, p.last_seen, p.last_beat,
    coalesce(p.offline, 0), NULL, w.token_hash
FROM json_each(:hashes) AS wanted
CROSS JOIN worker AS w ON w.token_hash = unhex(wanted.value)
LEFT JOIN pulse AS p ON p.worker = w.key
