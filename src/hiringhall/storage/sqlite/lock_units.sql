-- Units by id, tasks and calls, with the members that decisions need.
SELECT w.id, w.lane, l.key, coalesce(t.task_id, r.request_id), w.state, w.priority, w.seq, w.waiting_on, w.version,
    w.handed_version, w.started, w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause,
    coalesce(t.policy, r.policy), t.detail, w.cancelling, r.deadline_at, r.parent
FROM json_each(:ids) AS wanted
CROSS JOIN work AS w ON w.id = wanted.value
CROSS JOIN lane AS l ON l.id = w.lane
LEFT JOIN task AS t ON t.work = w.id
LEFT JOIN request AS r ON r.work = w.id
