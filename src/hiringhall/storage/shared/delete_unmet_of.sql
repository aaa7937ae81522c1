-- Forget the open dependencies of a task.
DELETE FROM unmet WHERE dependent = :dependent
