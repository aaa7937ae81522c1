-- A page of the tasks of a plan, in plan order.
SELECT w.id, w.lane, l.key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail,
    t.made_at
FROM plan AS p
JOIN lane AS l ON l.id = p.lane
JOIN task AS t ON t.lane = p.lane
JOIN work AS w ON w.id = t.work
WHERE p.id = :plan AND (t.seq, t.work) > (CAST(:seq AS bigint), CAST(:after AS bigint)) AND w.state {any:states text}
ORDER BY t.seq, t.work
LIMIT :limit
