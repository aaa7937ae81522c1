-- Differs: one statement for all rows.
-- Deliveries of work to workers, each with its cause.
INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at, key)
SELECT * FROM unnest(
    CAST(:worker AS text[]), CAST(:name AS text[]), CAST(:version AS bigint[]), CAST(:work AS bigint[]),
    CAST(:lane_key AS text[]), CAST(:cause AS text[]), CAST(:at AS bigint[]), CAST(:key AS bytea[])
)
