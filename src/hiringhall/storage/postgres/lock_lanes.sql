-- Differs: those that somebody is just using are passed over.
-- Some lanes, which nobody can begin to use until the transaction ends.
SELECT l.id FROM lane AS l WHERE l.id {any:lanes bigint} ORDER BY l.id FOR UPDATE SKIP LOCKED
