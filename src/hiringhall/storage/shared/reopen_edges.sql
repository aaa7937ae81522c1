-- Open the edges of units that no longer satisfy their dependents.
INSERT INTO unmet (dependency, dependent)
SELECT dependency, dependent FROM edge WHERE dependency {any:ids bigint}
ON CONFLICT DO NOTHING
RETURNING dependent
