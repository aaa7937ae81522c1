-- The PENDING tasks of a plan.
SELECT w.id, t.task_id
FROM plan AS p
JOIN task AS t ON t.lane = p.lane
JOIN work AS w ON w.id = t.work
WHERE p.id = :plan AND w.state IN {sources:revise}
ORDER BY w.id
