-- One task depends on another.
INSERT INTO edge (dependency, dependent) VALUES (:dependency, :dependent)
