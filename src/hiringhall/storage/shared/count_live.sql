-- How many workers that may be given something new fit each of some lanes.
SELECT f.lane, count(*)
FROM fit AS f
JOIN service_worker AS sw ON sw.worker = f.worker
JOIN worker AS w ON w.key = f.worker
JOIN pulse AS p ON p.worker = f.worker
WHERE f.lane {any:lanes bigint} AND sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0
GROUP BY f.lane
