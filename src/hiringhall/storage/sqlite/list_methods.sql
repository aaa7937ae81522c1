-- A page of methods on offer.
SELECT sw.service, m.value, count(*), sum(sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0), s.dispatch, s.methods
FROM service_worker AS sw
CROSS JOIN json_each(sw.capabilities, '$.methods') AS m
JOIN service AS s ON s.id = sw.service
JOIN worker AS w ON w.key = sw.worker
JOIN pulse AS p ON p.worker = sw.worker
WHERE (:service IS NULL OR sw.service = :service) AND (sw.service, m.value) > (:after_service, :after_method)
GROUP BY sw.service, m.value
ORDER BY sw.service, m.value
LIMIT :limit
