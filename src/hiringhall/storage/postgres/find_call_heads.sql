-- Differs: one statement for all rows; what another replica is taking is passed over, and the one row more, which is not locked, comes only
-- if all that are wanted are there.
-- The next ready calls of some lanes in the order in which they are taken, and those that are kept for others than their last
-- holder for a while.
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:ordinal AS bigint[]), CAST(:lane AS bigint[]), CAST(:limit AS bigint[]), CAST(:now AS bigint[]))
        AS asked (ordinal, lane, wanted, now)
), chosen AS MATERIALIZED (
    SELECT asked.ordinal, head.*
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM work
        WHERE work.lane = asked.lane AND work.state = {ready}
            AND coalesce((SELECT avoid_until FROM request WHERE request.work = work.id), 0) <= asked.now
        ORDER BY work.priority, work.seq, work.id
        LIMIT asked.wanted - 1
        FOR UPDATE SKIP LOCKED
    ) AS head
), one_more AS MATERIALIZED (
    SELECT asked.ordinal, head.*
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM work
        WHERE work.lane = asked.lane AND work.state = {ready} AND work.id NOT IN (SELECT chosen.id FROM chosen)
            AND (SELECT count(*) FROM chosen WHERE chosen.ordinal = asked.ordinal) = asked.wanted - 1
            AND coalesce((SELECT avoid_until FROM request WHERE request.work = work.id), 0) <= asked.now
        ORDER BY work.priority, work.seq, work.id
        LIMIT 1
    ) AS head
), kept AS MATERIALIZED (
    SELECT asked.ordinal, avoided.*
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM work
        WHERE work.id = ANY (ARRAY(
            SELECT request.work FROM request WHERE request.lane = asked.lane AND request.avoid_until > asked.now
        )) AND work.state = {ready}
        LIMIT asked.wanted
        FOR UPDATE SKIP LOCKED
    ) AS avoided
)
SELECT w.ordinal, w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy,
    r.method, octet_length(y.params), r.traceparent, r.parent, w.part
FROM (
    SELECT 0 AS part, chosen.* FROM chosen UNION ALL SELECT 1, one_more.* FROM one_more UNION ALL SELECT 2, kept.* FROM kept
) AS w
CROSS JOIN LATERAL (SELECT * FROM lane WHERE lane.id = w.lane OFFSET 0) AS l
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.work = w.id OFFSET 0) AS r  -- looked up for each, never joined in bulk
CROSS JOIN LATERAL (SELECT * FROM payload WHERE payload.work = coalesce(r.parent, r.work) OFFSET 0) AS y
ORDER BY w.part, w.priority, w.seq, w.id
