-- Differs: one statement for all rows, which locks the units in ascending order.
-- The units that workers were handed under exactly these versions; of those that are gone by now only that they were.
WITH handed AS MATERIALIZED (
    SELECT asked.ordinal, hand_over.work, hand_over.lane_key
    FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:name AS text[]), CAST(:version AS bigint[])
    ) AS asked (ordinal, worker, name, version)
    JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.name = asked.name
        AND hand_over.version = asked.version
), locked AS MATERIALIZED (
    SELECT w.id, w.lane, l.key AS lane_key, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version,
        w.started, w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause,
        t.policy, t.detail
    FROM work AS w
    JOIN task AS t ON t.work = w.id
    JOIN lane AS l ON l.id = t.lane
    WHERE w.id = ANY (ARRAY(SELECT handed.work FROM handed))
    ORDER BY w.id
    FOR UPDATE OF w
)
SELECT locked.*, handed.ordinal, handed.work, handed.lane_key
FROM handed LEFT JOIN locked ON locked.id = handed.work
ORDER BY handed.ordinal
