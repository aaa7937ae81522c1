-- The unit that a worker was handed under exactly this version.
SELECT CAST(:ordinal AS integer), work, plan
FROM hand_over
WHERE worker = :worker AND task_id = :task_id AND version = :version AND gone_at IS NULL
