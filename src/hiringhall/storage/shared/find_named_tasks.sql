-- The tasks of a plan among these names.
SELECT t.task_id, t.work, w.state, t.digest
FROM plan AS p
JOIN task AS t ON t.lane = p.lane
JOIN work AS w ON w.id = t.work
WHERE p.id = :plan AND t.task_id {any:names text}
