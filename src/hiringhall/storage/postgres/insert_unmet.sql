-- Differs: one statement for all rows.
-- Dependencies are open.
INSERT INTO unmet (dependency, dependent)
SELECT * FROM unnest(CAST(:dependency AS bigint[]), CAST(:dependent AS bigint[]))
