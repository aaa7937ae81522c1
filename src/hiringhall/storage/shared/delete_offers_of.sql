-- Some units are offered to nobody any more.
DELETE FROM offer WHERE work {any:ids bigint}
RETURNING work
