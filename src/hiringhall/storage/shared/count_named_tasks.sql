-- How many tasks of a lane are among these names.
SELECT count(*) FROM task WHERE lane = :lane AND task_id {any:names text}
