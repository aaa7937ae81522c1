-- Differs: each task is looked up by itself, never joined in bulk.
-- What is stored of a plan: its lane, its name, its number of tasks up to a limit, their last place, and each task among these
-- names; one row without a task if there is none.
WITH stored AS MATERIALIZED (
    SELECT p.lane, p.name,
        (SELECT count(*) FROM (SELECT 1 FROM task WHERE task.lane = p.lane LIMIT :counted_max) AS first_ones) AS tasks,
        (SELECT coalesce(max(task.seq), -1) FROM task WHERE task.lane = p.lane) AS last_seq
    FROM lane AS l JOIN plan AS p ON p.lane = l.id
    WHERE l.key = :key
)
SELECT stored.lane, stored.name, stored.tasks, stored.last_seq, named.task_id, named.work, named.state, named.digest
FROM stored
LEFT JOIN LATERAL (
    SELECT t.task_id, t.work, w.state, t.digest
    FROM unnest(CAST(:names AS text[])) AS asked (task_id)
    CROSS JOIN LATERAL (SELECT * FROM task WHERE task.lane = stored.lane AND task.task_id = asked.task_id OFFSET 0) AS t
    CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = t.work OFFSET 0) AS w
) AS named ON true
