-- All tasks of an id, whatever their plan.
SELECT t.work, p.id, w.holder
FROM task AS t
JOIN plan AS p ON p.lane = t.lane
JOIN work AS w ON w.id = t.work
WHERE t.task_id = :task_id
ORDER BY t.work
