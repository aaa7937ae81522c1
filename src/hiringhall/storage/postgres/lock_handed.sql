-- Differs: one statement for all rows, which locks the units in ascending order.
-- The units that workers were handed under exactly these versions; of those that are gone by now only that they were.
WITH handed AS MATERIALIZED (
    SELECT asked.ordinal, hand_over.work, hand_over.plan
    FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[])
    ) AS asked (ordinal, worker, task_id, version)
    JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.task_id = asked.task_id
        AND hand_over.version = asked.version
), locked AS MATERIALIZED (
    SELECT w.id, w.lane, p.id AS plan, t.task_id, w.state, w.priority, w.seq, w.waiting_on, w.version, w.handed_version,
        w.started, w.holder, w.last_holder, w.handed_at, w.run_until, w.retry_at, w.attempts, w.abandoned, w.cause,
        t.policy, t.detail
    FROM work AS w
    JOIN task AS t ON t.work = w.id
    JOIN plan AS p ON p.lane = t.lane
    WHERE w.id = ANY (ARRAY(SELECT handed.work FROM handed))
    ORDER BY w.id
    FOR UPDATE OF w
)
SELECT locked.*, handed.ordinal, handed.work, handed.plan
FROM handed LEFT JOIN locked ON locked.id = handed.work
ORDER BY handed.ordinal
