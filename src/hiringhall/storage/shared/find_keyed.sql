-- What a worker got in answer to a claim with this key, as far as it still holds it at that version.
SELECT w.id, w.lane, p.id, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
FROM hand_over AS h
JOIN work AS w ON w.id = h.work AND w.holder = h.worker AND w.handed_version = h.version
JOIN task AS t ON t.work = w.id
JOIN plan AS p ON p.lane = t.lane
WHERE h.key = :key AND h.worker = :worker AND w.state = {held}
ORDER BY w.priority, w.seq, w.id
