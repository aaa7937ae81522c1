-- Some lanes, which nobody can begin to use until the transaction ends.
SELECT l.id FROM lane AS l WHERE l.id {any:lanes bigint}
