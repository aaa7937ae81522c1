-- Differs: one statement for all rows.
-- The answers to calls, or what ended them instead.
INSERT INTO result (work, answer, result, error_text, worker, key, body, at)
SELECT * FROM unnest(
    CAST(:work AS bigint[]), CAST(:answer AS text[]), CAST(:result AS bytea[]), CAST(:error_text AS text[]),
    CAST(:worker AS text[]), CAST(:key AS bytea[]), CAST(:body AS bytea[]), CAST(:at AS bigint[])
)
ON CONFLICT (work) DO UPDATE SET answer = excluded.answer, result = excluded.result, error_text = excluded.error_text,
    worker = excluded.worker, key = excluded.key, body = excluded.body, at = excluded.at
