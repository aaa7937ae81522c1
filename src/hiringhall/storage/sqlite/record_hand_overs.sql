-- The deliveries of tasks that were handed over just now.
INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)
SELECT w.holder, t.task_id, w.version, w.id, l.key, w.cause, w.handed_at
FROM work AS w
CROSS JOIN task AS t ON t.work = w.id
CROSS JOIN lane AS l ON l.id = w.lane
WHERE w.id {any:ids bigint}
