-- What a service worker is, and whether a login may act for it.
SELECT CAST(:ordinal AS integer), sw.service, sw.capabilities, sw.leaving, w.quiet, w.terminate, coalesce(p.offline, 1),
    EXISTS (SELECT 1 FROM directive AS d WHERE d.worker = sw.worker),
    s.sid IS NOT NULL AND (s.incarnation IS NULL OR s.incarnation = sw.incarnation)
FROM service_worker AS sw
JOIN worker AS w ON w.key = sw.worker
LEFT JOIN pulse AS p ON p.worker = sw.worker
LEFT JOIN session AS s ON s.sid = :session AND s.ended_at IS NULL AND s.role = 'worker' AND s.service = sw.service
    AND s.subject = sw.worker_id
WHERE sw.worker = :worker
