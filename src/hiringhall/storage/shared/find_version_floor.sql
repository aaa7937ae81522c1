-- The highest version under which a worker was ever handed a task of this id.
SELECT max(version) FROM hand_over WHERE worker = :worker AND task_id = :task_id
