-- Forget how a call ended.
DELETE FROM result WHERE work = :work
