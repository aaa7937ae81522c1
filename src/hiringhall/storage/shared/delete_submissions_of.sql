-- Forget the idempotency record of a call.
DELETE FROM submission WHERE work = :work
