-- Differs: one statement for all rows.
-- Tasks depend on others.
INSERT INTO edge (dependency, dependent)
SELECT * FROM unnest(CAST(:dependency AS bigint[]), CAST(:dependent AS bigint[]))
