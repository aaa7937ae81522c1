-- The next ready calls of a lane in the order in which they are taken, and those that are kept for others than their last
-- holder for a while.
SELECT * FROM (
    SELECT CAST(:ordinal AS integer), w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy,
    r.method, length(y.params), r.traceparent, r.parent, 0
    FROM lane AS l
    CROSS JOIN work AS w ON w.lane = l.id AND w.state = {ready}
    CROSS JOIN request AS r ON r.work = w.id AND (r.avoid_until IS NULL OR r.avoid_until <= :now)
    CROSS JOIN payload AS y ON y.work = coalesce(r.parent, r.work)
    WHERE l.id = :lane
    ORDER BY w.priority, w.seq, w.id
    LIMIT :limit
)
UNION ALL
SELECT * FROM (
    SELECT CAST(:ordinal AS integer), w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy,
    r.method, length(y.params), r.traceparent, r.parent, 2
    FROM request AS r
    CROSS JOIN work AS w ON w.id = r.work AND w.state = {ready}
    CROSS JOIN lane AS l ON l.id = w.lane
    CROSS JOIN payload AS y ON y.work = coalesce(r.parent, r.work)
    WHERE r.lane = :lane AND r.avoid_until > :now
    LIMIT :limit
)
