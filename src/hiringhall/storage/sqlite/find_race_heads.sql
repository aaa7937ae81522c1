-- The next ready calls of a lane that can be offered to a worker: not those that it was offered lately, nor what is kept for
-- others for a while.
SELECT CAST(:ordinal AS integer), w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy,
    r.method, length(y.params), r.traceparent, r.parent
FROM lane AS l
CROSS JOIN work AS w ON w.lane = l.id AND w.state = {ready}
CROSS JOIN request AS r ON r.work = w.id AND (r.avoid_until IS NULL OR r.avoid_until <= :now OR w.last_holder <> :worker)
CROSS JOIN payload AS y ON y.work = coalesce(r.parent, r.work)
WHERE l.id = :lane
    AND NOT EXISTS (SELECT 1 FROM offer AS o WHERE o.worker = :worker AND o.work = w.id AND o.offered_at > :since)
ORDER BY w.priority, w.seq, w.id
LIMIT :limit
