-- Calls by id, with what decisions need; locked in ascending order.
SELECT w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy, NULL, w.cancelling, r.deadline_at,
    r.parent, r.client, r.service, r.child_of, r.dispatch
FROM request AS r
JOIN work AS w ON w.id = r.work
JOIN lane AS l ON l.id = w.lane
WHERE r.request_id = ANY (CAST(:names AS text[]))
ORDER BY w.id
FOR UPDATE OF w
