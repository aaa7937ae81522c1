-- Forget every edge of a task.
DELETE FROM edge WHERE dependency = :work OR dependent = :work
