-- Differs: rows that another replica is taking are passed over, and the one row more is not locked.
-- The next ready units of a lane that is not paused, in the order in which they are taken, and one row more if more is there.
WITH chosen AS MATERIALIZED (
    SELECT w.id, w.lane, p.id AS plan, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
        w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
    FROM lane AS l
    JOIN plan AS p ON p.lane = l.id
    JOIN work AS w ON w.lane = l.id AND w.state = {ready}
    JOIN task AS t ON t.work = w.id
    WHERE l.key = :lane AND l.paused = 0
    ORDER BY w.priority, w.seq, w.id
    LIMIT CAST(:limit AS bigint) - 1
    FOR UPDATE OF w SKIP LOCKED
), one_more AS MATERIALIZED (
    SELECT w.id, w.lane, p.id AS plan, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
        w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail
    FROM lane AS l
    JOIN plan AS p ON p.lane = l.id
    JOIN work AS w ON w.lane = l.id AND w.state = {ready} AND w.id NOT IN (SELECT chosen.id FROM chosen)
    JOIN task AS t ON t.work = w.id
    WHERE l.key = :lane AND l.paused = 0
    ORDER BY w.priority, w.seq, w.id
    LIMIT 1
)
SELECT id, lane, plan, task_id, state, priority, seq, waiting_on, version, handed_version, started,
    holder, last_holder, handed_at, run_until, retry_at, attempts, abandoned, cause, policy, detail
FROM (SELECT 0 AS part, chosen.* FROM chosen UNION ALL SELECT 1, one_more.* FROM one_more) AS rows
ORDER BY part, priority, seq, id
