-- The last answers to some calls.
SELECT work, worker, key, body FROM result WHERE work {any:ids bigint}
