-- Differs: one statement for all rows.
-- The versions above the units' own under which workers were handed tasks of these ids.
SELECT asked.ordinal, hand_over.version
FROM unnest(CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[]))
    AS asked (ordinal, worker, task_id, version)
JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.task_id = asked.task_id
    AND hand_over.version > asked.version
