-- Forget the idempotency records of some calls.
DELETE FROM submission WHERE work {any:ids bigint}
