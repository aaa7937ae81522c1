-- Differs: one statement for all rows.
-- Append lines to the audit log.
INSERT INTO event (work, version, move, state, worker, cause, reason, at)
SELECT * FROM unnest(
    CAST(:work AS bigint[]), CAST(:version AS bigint[]), CAST(:move AS text[]), CAST(:state AS text[]),
    CAST(:worker AS text[]), CAST(:cause AS text[]), CAST(:reason AS text[]), CAST(:at AS bigint[])
)
