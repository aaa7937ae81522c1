-- Workers that can be woken at an address, may be given something new, and fit any of some lanes.
SELECT DISTINCT sw.worker, sw.service, sw.ip, sw.port, sw.source, sw.forwarded
FROM lane AS l
JOIN fit AS f ON f.lane = l.id
JOIN service_worker AS sw ON sw.worker = f.worker
JOIN worker AS w ON w.key = f.worker
JOIN pulse AS p ON p.worker = f.worker
WHERE l.key {any:keys text} AND sw.run_mode = 'lazy' AND sw.ip IS NOT NULL AND sw.port IS NOT NULL
    AND sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0
ORDER BY sw.worker
