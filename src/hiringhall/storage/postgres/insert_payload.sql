-- Differs: one statement for all rows.
-- Store what calls are about.
INSERT INTO payload (work, params) SELECT * FROM unnest(CAST(:work AS bigint[]), CAST(:params AS bytea[]))
