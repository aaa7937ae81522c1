-- The workers of some services, what each can do, and whether it may be given something new.
SELECT sw.service, sw.worker, sw.capabilities, sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0
FROM service_worker AS sw
JOIN worker AS w ON w.key = sw.worker
JOIN pulse AS p ON p.worker = sw.worker
WHERE sw.service {any:services text}
ORDER BY sw.worker
