-- Differs: each is looked up by itself, never joined in bulk.
-- How many workers that may be given something new fit each of some lanes.
SELECT f.lane, count(*)
FROM fit AS f
CROSS JOIN LATERAL (
    SELECT sw.worker
    FROM service_worker AS sw
    JOIN worker AS w ON w.key = f.worker AND w.quiet = 0 AND w.terminate = 0
    JOIN pulse AS p ON p.worker = f.worker AND p.offline = 0
    WHERE sw.worker = f.worker AND sw.leaving = 0
    OFFSET 0
) AS live
WHERE f.lane {any:lanes bigint}
GROUP BY f.lane
