-- Differs: one statement for all rows.
-- Hand units over that are ready.
UPDATE work
SET state = {held}, version = row.version, handed_version = row.version, started = 0, holder = row.holder,
    handed_at = row.handed_at, run_until = row.run_until
FROM unnest(
    CAST(:id AS bigint[]), CAST(:version AS bigint[]), CAST(:holder AS text[]), CAST(:handed_at AS bigint[]),
    CAST(:run_until AS bigint[])
) AS row (id, version, holder, handed_at, run_until)
WHERE work.id = row.id AND work.state IN {sources:hold}
