-- The versions above the unit's own under which a worker was handed a task of this id: rarely any, so no maximum is sought.
SELECT CAST(:ordinal AS integer), version
FROM hand_over
WHERE worker = :worker AND task_id = :task_id AND version > :version
