-- Delete a task.
DELETE FROM task WHERE work = :work
