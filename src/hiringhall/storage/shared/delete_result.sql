-- Forget how some calls ended.
DELETE FROM result WHERE work {any:ids bigint}
