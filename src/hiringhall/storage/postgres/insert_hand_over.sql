-- Differs: one statement for all rows.
-- Deliveries of work to workers, each with its cause.
INSERT INTO hand_over (worker, task_id, version, work, plan, cause, at, key)
SELECT * FROM unnest(
    CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[]), CAST(:work AS bigint[]),
    CAST(:plan AS text[]), CAST(:cause AS text[]), CAST(:at AS bigint[]), CAST(:key AS bytea[])
)
