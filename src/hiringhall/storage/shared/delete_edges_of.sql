-- Forget what a task depends on.
DELETE FROM edge WHERE dependent = :dependent
