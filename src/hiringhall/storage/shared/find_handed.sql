-- The unit that a worker was handed under exactly this version, even if it is gone by now.
SELECT CAST(:ordinal AS integer), work, plan
FROM hand_over
WHERE worker = :worker AND task_id = :task_id AND version = :version
