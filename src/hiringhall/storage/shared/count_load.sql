-- How many units some workers hold, and how many ready ones they were offered lately.
SELECT h.holder, count(*) FROM work AS h WHERE h.holder {any:workers text} GROUP BY h.holder
UNION ALL
SELECT o.worker, count(*)
FROM offer AS o JOIN work AS w ON w.id = o.work
WHERE o.worker {any:workers text} AND o.offered_at > :since AND w.state = {ready}
GROUP BY o.worker
