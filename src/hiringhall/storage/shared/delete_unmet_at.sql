-- Forget every open edge of a task.
DELETE FROM unmet WHERE dependency = :work OR dependent = :work
