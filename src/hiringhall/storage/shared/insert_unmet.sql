-- The dependency is open.
INSERT INTO unmet (dependency, dependent) VALUES (:dependency, :dependent)
