-- Differs: one statement for all rows.
-- Note by how much the number of units in some states changed.
INSERT INTO tally (lane, state, n)
SELECT * FROM unnest(CAST(:lane AS bigint[]), CAST(:state AS text[]), CAST(:n AS bigint[]))
