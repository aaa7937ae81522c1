-- Workers by the hash of their token.
SELECT w.key, w.hostname, w.token_hash IS NOT NULL, w.quiet, w.terminate, w.registered_at, p.last_seen, p.last_beat,
    coalesce(p.offline, 0), CAST(NULL AS bigint), w.token_hash
FROM worker AS w LEFT JOIN pulse AS p ON p.worker = w.key
WHERE w.token_hash IN (SELECT decode(wanted, 'hex') FROM unnest(CAST(:hashes AS text[])) AS wanted)
