-- A page of methods on offer.
SELECT sw.service, m.method, count(*), count(*) FILTER (WHERE sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0), s.dispatch, s.methods
FROM service_worker AS sw
CROSS JOIN LATERAL (
    SELECT value COLLATE "C" AS method FROM json_array_elements_text(CAST(sw.capabilities AS json) -> 'methods') AS value
) AS m
JOIN service AS s ON s.id = sw.service
JOIN worker AS w ON w.key = sw.worker
JOIN pulse AS p ON p.worker = sw.worker
WHERE (CAST(:service AS text) IS NULL OR sw.service = CAST(:service AS text))
    AND (sw.service, m.method) > (CAST(:after_service AS text), CAST(:after_method AS text))
GROUP BY sw.service, m.method, s.dispatch, s.methods
ORDER BY sw.service, m.method
LIMIT :limit
