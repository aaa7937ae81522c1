-- Remember which call an Idempotency-Key stands for.
INSERT INTO submission (key, body, work, request_id, at) VALUES (:key, :body, :work, :request_id, :at)
