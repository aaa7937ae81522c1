-- Differs: one statement for all rows.
-- The units that workers were handed under exactly these versions, even if they are gone by now.
SELECT asked.ordinal, hand_over.work, hand_over.plan
FROM unnest(CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[]))
    AS asked (ordinal, worker, task_id, version)
JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.task_id = asked.task_id
    AND hand_over.version = asked.version
ORDER BY asked.ordinal
