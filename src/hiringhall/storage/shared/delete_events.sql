-- Forget the audit log of a unit.
DELETE FROM event WHERE work = :work
