-- Differs: one statement for all rows.
-- Store items of feedback.
INSERT INTO feedback (work, number, st, sn, ft, pr, fc, worker, at)
SELECT * FROM unnest(
    CAST(:work AS bigint[]), CAST(:number AS bigint[]), CAST(:st AS bigint[]), CAST(:sn AS text[]), CAST(:ft AS bytea[]),
    CAST(:pr AS integer[]), CAST(:fc AS bytea[]), CAST(:worker AS text[]), CAST(:at AS bigint[])
)
