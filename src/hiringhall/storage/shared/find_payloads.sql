-- What some calls are about.
SELECT work, params FROM payload WHERE work {any:ids bigint}
