-- Forget to whom a unit was offered.
DELETE FROM offer WHERE work = :work
