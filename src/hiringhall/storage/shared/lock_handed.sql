-- The unit that a worker was handed under exactly this version; of one that is gone by now only that it was.
SELECT w.id, w.lane, l.key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail,
    CAST(:ordinal AS integer), h.work, h.lane_key
FROM hand_over AS h
LEFT JOIN work AS w ON w.id = h.work AND h.gone_at IS NULL
LEFT JOIN task AS t ON t.work = w.id
LEFT JOIN lane AS l ON l.id = t.lane
WHERE h.worker = :worker AND h.name = :name AND h.version = :version
