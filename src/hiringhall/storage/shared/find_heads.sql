-- The next ready units of a lane that is not paused, in the order in which they are taken.
SELECT w.id, w.lane, l.key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail,
    p.traceparent
FROM lane AS l
JOIN plan AS p ON p.lane = l.id
JOIN work AS w ON w.lane = l.id AND w.state = {ready}
JOIN task AS t ON t.work = w.id
WHERE l.key = :lane AND l.paused = 0
ORDER BY w.priority, w.seq, w.id
LIMIT :limit
