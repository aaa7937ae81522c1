-- Differs: one statement for all rows.
-- Workers may be given the calls of lanes.
INSERT INTO fit (worker, lane) SELECT * FROM unnest(CAST(:worker AS text[]), CAST(:lane AS bigint[]))
