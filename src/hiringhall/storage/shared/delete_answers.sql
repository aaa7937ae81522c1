-- Forget the idempotency records of a unit.
DELETE FROM answer WHERE work = :work
