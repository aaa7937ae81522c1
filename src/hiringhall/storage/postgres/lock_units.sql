-- Units by id, with the members of their tasks that decisions need; locked in ascending order.
SELECT w.id, w.lane, p.id, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
FROM work AS w
JOIN task AS t ON t.work = w.id
JOIN plan AS p ON p.lane = t.lane
WHERE w.id = ANY (CAST(:ids AS bigint[]))
ORDER BY w.id
FOR UPDATE OF w
