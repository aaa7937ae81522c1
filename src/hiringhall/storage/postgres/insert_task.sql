-- Differs: one statement for all rows.
-- Store what never changes of tasks while they are worked on.
INSERT INTO task (work, lane, task_id, policy, detail, digest, seq, made_at, made_as)
SELECT * FROM unnest(
    CAST(:work AS bigint[]), CAST(:lane AS bigint[]), CAST(:task_id AS text[]), CAST(:policy AS text[]),
    CAST(:detail AS text[]), CAST(:digest AS text[]), CAST(:seq AS bigint[]), CAST(:made_at AS bigint[]),
    CAST(:made_as AS text[])
)
