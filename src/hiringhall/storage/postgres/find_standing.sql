-- Differs: one statement for all rows, which lets no new incarnation in until the transaction ends.
-- What service workers are, and whether logins may act for them.
SELECT asked.ordinal, sw.service, sw.capabilities, sw.leaving, w.quiet, w.terminate, coalesce(p.offline, 1),
    EXISTS (SELECT 1 FROM directive AS d WHERE d.worker = sw.worker),
    s.sid IS NOT NULL AND (s.incarnation IS NULL OR s.incarnation = sw.incarnation)
FROM unnest(CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:session AS text[])) AS asked (ordinal, worker, session)
JOIN service_worker AS sw ON sw.worker = asked.worker
JOIN worker AS w ON w.key = sw.worker
LEFT JOIN pulse AS p ON p.worker = sw.worker
LEFT JOIN session AS s ON s.sid = asked.session AND s.ended_at IS NULL AND s.role = 'worker' AND s.service = sw.service
    AND s.subject = sw.worker_id
ORDER BY sw.worker
FOR KEY SHARE OF sw
