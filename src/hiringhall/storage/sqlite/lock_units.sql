-- Units by id, with the members of their tasks that decisions need.
SELECT w.id, w.lane, p.id, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
FROM json_each(:ids) AS wanted
CROSS JOIN work AS w ON w.id = wanted.value
CROSS JOIN task AS t ON t.work = w.id
CROSS JOIN plan AS p ON p.lane = t.lane
