-- Differs: one statement for all rows.
-- The next ready calls of lanes that can be offered to workers: not those that each was offered lately, nor what is kept for
-- others for a while.
WITH asked AS MATERIALIZED (
    SELECT * FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:lane AS bigint[]), CAST(:limit AS bigint[]),
        CAST(:now AS bigint[]), CAST(:since AS bigint[])
    ) AS asked (ordinal, worker, lane, wanted, now, since)
)
SELECT w.ordinal, w.id, w.lane, l.key, r.request_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version, w.started,
    w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause, r.policy,
    r.method, octet_length(y.params), r.traceparent, r.parent
FROM (
    SELECT asked.ordinal, head.*
    FROM asked CROSS JOIN LATERAL (
        SELECT * FROM work
        WHERE work.lane = asked.lane AND work.state = {ready}
            AND coalesce((
                SELECT offered_at FROM offer WHERE offer.worker = asked.worker AND offer.work = work.id
            ), 0) <= asked.since
            AND (
                work.last_holder IS DISTINCT FROM asked.worker
                OR coalesce((SELECT avoid_until FROM request WHERE request.work = work.id), 0) <= asked.now
            )
        ORDER BY work.priority, work.seq, work.id
        LIMIT asked.wanted
    ) AS head
) AS w
CROSS JOIN LATERAL (SELECT * FROM lane WHERE lane.id = w.lane OFFSET 0) AS l
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.work = w.id OFFSET 0) AS r  -- looked up for each, never joined in bulk
CROSS JOIN LATERAL (SELECT * FROM payload WHERE payload.work = coalesce(r.parent, r.work) OFFSET 0) AS y
ORDER BY w.ordinal, w.priority, w.seq, w.id
