-- What is stored of a plan: its lane, its name, its number of tasks up to a limit, their last place, and each task among these
-- names; one row without a task if there is none.
WITH stored AS MATERIALIZED (
    SELECT p.lane, p.name, (SELECT count(*) FROM (SELECT 1 FROM task WHERE task.lane = p.lane LIMIT :counted_max) AS first_ones) AS tasks,
        (SELECT coalesce(max(task.seq), -1) FROM task WHERE task.lane = p.lane) AS last_seq
    FROM lane AS l JOIN plan AS p ON p.lane = l.id
    WHERE l.key = :key
)
SELECT stored.lane, stored.name, stored.tasks, stored.last_seq, t.task_id, t.work, w.state, t.digest
FROM stored
LEFT JOIN task AS t ON t.lane = stored.lane AND t.task_id {any:names text}
LEFT JOIN work AS w ON w.id = t.work
