-- Some tasks of a lane.
SELECT work FROM task WHERE lane = :lane LIMIT :limit
