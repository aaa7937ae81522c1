-- The answer to a call, or what ended it instead.
INSERT INTO result (work, answer, result, error_text, worker, key, body, at)
VALUES (:work, :answer, :result, :error_text, :worker, :key, :body, :at)
ON CONFLICT (work) DO UPDATE SET answer = excluded.answer, result = excluded.result, error_text = excluded.error_text,
    worker = excluded.worker, key = excluded.key, body = excluded.body, at = excluded.at
