-- Complete units that are held.
UPDATE work
SET state = {done}, version = version + 1, started = 0, last_holder = holder, holder = NULL, run_until = NULL, abandoned = 0
WHERE id {any:ids bigint} AND state IN {sources:complete}
