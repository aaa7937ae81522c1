-- Which of some tasks others depend on: (task id, dependent's task id).
SELECT upper_task.task_id, lower_task.task_id
FROM edge
JOIN task AS upper_task ON upper_task.work = edge.dependency
JOIN task AS lower_task ON lower_task.work = edge.dependent
WHERE edge.dependency {any:ids bigint}
