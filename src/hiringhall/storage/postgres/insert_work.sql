-- Differs: one statement for all rows.
-- Make units of work.
INSERT INTO work (id, lane, state, priority, seq, waiting_on)
SELECT * FROM unnest(
    CAST(:id AS bigint[]), CAST(:lane AS bigint[]), CAST(:state AS text[]), CAST(:priority AS bigint[]),
    CAST(:seq AS bigint[]), CAST(:waiting_on AS bigint[])
)
