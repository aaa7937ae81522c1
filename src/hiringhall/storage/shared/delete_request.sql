-- Delete some calls.
DELETE FROM request WHERE work {any:ids bigint}
