-- One task of one plan.
SELECT t.work FROM task AS t JOIN plan AS p ON p.lane = t.lane WHERE p.id = :plan AND t.task_id = :task_id
