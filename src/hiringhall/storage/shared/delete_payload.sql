-- Forget what some calls were about.
DELETE FROM payload WHERE work {any:ids bigint}
