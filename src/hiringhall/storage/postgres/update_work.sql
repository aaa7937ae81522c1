-- Differs: one statement for all rows.
-- Write units that their decisions changed; the rows were read in the same transaction and are locked.
UPDATE work
SET state = row.state, priority = row.priority, seq = row.seq, waiting_on = row.waiting_on, version = row.version,
    handed_version = row.handed_version, started = row.started, holder = row.holder, last_holder = row.last_holder,
    handed_at = row.handed_at, run_until = row.run_until, retry_at = row.retry_at, attempts = row.attempts,
    abandoned = row.abandoned, cause = row.cause, cancelling = row.cancelling
FROM unnest(
    CAST(:id AS bigint[]), CAST(:state AS text[]), CAST(:priority AS bigint[]), CAST(:seq AS bigint[]),
    CAST(:waiting_on AS bigint[]), CAST(:version AS bigint[]), CAST(:handed_version AS bigint[]), CAST(:started AS integer[]),
    CAST(:holder AS text[]), CAST(:last_holder AS text[]), CAST(:handed_at AS bigint[]), CAST(:run_until AS bigint[]),
    CAST(:retry_at AS bigint[]), CAST(:attempts AS bigint[]), CAST(:abandoned AS bigint[]), CAST(:cause AS text[]),
    CAST(:cancelling AS integer[])
) AS row (
    id, state, priority, seq, waiting_on, version, handed_version, started, holder, last_holder, handed_at, run_until, retry_at,
    attempts, abandoned, cause, cancelling
)
WHERE work.id = row.id
