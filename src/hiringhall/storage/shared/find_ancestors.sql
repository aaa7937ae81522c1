-- All edges above some units: (dependent, dependency), by the ids of their tasks.
WITH RECURSIVE above (work) AS (
    SELECT t.work FROM task AS t WHERE t.work {any:ids bigint}
    UNION
    SELECT edge.dependency FROM edge JOIN above ON edge.dependent = above.work
)
SELECT lower_task.task_id, upper_task.task_id
FROM above
JOIN edge ON edge.dependent = above.work
JOIN task AS lower_task ON lower_task.work = edge.dependent
JOIN task AS upper_task ON upper_task.work = edge.dependency
