-- Tasks by id, of one plan or of any.
SELECT w.id, w.lane, l.key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail,
    t.made_at
FROM task AS t
JOIN work AS w ON w.id = t.work
JOIN plan AS p ON p.lane = t.lane
JOIN lane AS l ON l.id = p.lane
WHERE t.task_id = :task_id AND (CAST(:plan AS text) IS NULL OR p.id = CAST(:plan AS text))
ORDER BY w.id
