-- Calls by id, with what decisions need.
SELECT w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy, NULL, w.cancelling, r.deadline_at,
    r.parent, r.client, r.service, r.child_of, r.dispatch
FROM json_each(:names) AS wanted
CROSS JOIN request AS r ON r.request_id = wanted.value
CROSS JOIN work AS w ON w.id = r.work
CROSS JOIN lane AS l ON l.id = w.lane
ORDER BY w.id
