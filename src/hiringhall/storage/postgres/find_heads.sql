-- Differs: rows that another replica is taking are passed over, and the one row more, which is not locked, comes only if all
-- that are wanted are there: it tells that there is more, and is not to be handed over.
-- The next ready units of a lane that is not paused, in the order in which they are taken, and one row more if more is there.
WITH source AS MATERIALIZED (
    SELECT l.id AS lane, l.key AS lane_key, p.traceparent FROM lane AS l JOIN plan AS p ON p.lane = l.id WHERE l.key = :lane AND l.paused = 0
), chosen AS MATERIALIZED (
    SELECT source.lane_key, source.traceparent, head.*
    FROM source CROSS JOIN LATERAL (
        SELECT * FROM work WHERE work.lane = source.lane AND work.state = {ready}
        ORDER BY work.priority, work.seq, work.id
        LIMIT CAST(:limit AS bigint) - 1
        FOR UPDATE SKIP LOCKED
    ) AS head
), one_more AS MATERIALIZED (
    SELECT source.lane_key, source.traceparent, head.*
    FROM source CROSS JOIN LATERAL (
        SELECT * FROM work
        WHERE work.lane = source.lane AND work.state = {ready} AND work.id NOT IN (SELECT chosen.id FROM chosen)
            AND (SELECT count(*) FROM chosen) = CAST(:limit AS bigint) - 1
        ORDER BY work.priority, work.seq, work.id
        LIMIT 1
    ) AS head
)
SELECT w.id, w.lane, w.lane_key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, t.policy, t.detail,
    w.traceparent
FROM (SELECT 0 AS part, chosen.* FROM chosen UNION ALL SELECT 1, one_more.* FROM one_more) AS w
CROSS JOIN LATERAL (SELECT * FROM task WHERE task.work = w.id OFFSET 0) AS t  -- looked up for each, never joined in bulk
ORDER BY w.part, w.priority, w.seq, w.id
