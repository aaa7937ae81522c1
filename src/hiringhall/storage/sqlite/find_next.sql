-- The next ready tasks of a plan that is not paused, in the order in which they are taken, and whether anybody was ever handed
-- a unit of that name.
SELECT w.id, w.lane, p.id, t.task_id, w.version, w.priority, t.policy, t.detail, p.traceparent,
    EXISTS (SELECT 1 FROM hand_over AS h WHERE h.name = t.task_id)
FROM lane AS l
JOIN plan AS p ON p.lane = l.id
JOIN work AS w ON w.lane = l.id AND w.state = {ready}
JOIN task AS t ON t.work = w.id
WHERE l.key = :lane AND l.paused = 0
ORDER BY w.priority, w.seq, w.id
LIMIT :limit
