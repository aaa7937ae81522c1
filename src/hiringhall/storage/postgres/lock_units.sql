-- Units by id, tasks and calls, with the members that decisions need; locked in ascending order.
SELECT w.id, w.lane, l.key, coalesce(t.task_id, r.request_id), w.state, w.priority, w.seq, w.waiting_on, w.version,
    w.handed_version, w.started, w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause,
    coalesce(t.policy, r.policy), t.detail, w.cancelling, r.deadline_at, r.parent
FROM work AS w
JOIN lane AS l ON l.id = w.lane
LEFT JOIN LATERAL (SELECT * FROM task WHERE task.work = w.id OFFSET 0) AS t ON true  -- looked up for each, never joined in bulk
LEFT JOIN LATERAL (SELECT * FROM request WHERE request.work = w.id OFFSET 0) AS r ON true
WHERE w.id = ANY (CAST(:ids AS bigint[]))
ORDER BY w.id
FOR UPDATE OF w
