-- Close the open edges of satisfied units. An edge is honoured by whoever deletes it, hence exactly once.
DELETE FROM unmet WHERE dependency {any:ids bigint}
RETURNING dependent
