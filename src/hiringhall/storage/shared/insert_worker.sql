-- Admit a worker whose id is free.
INSERT INTO worker (key, hostname, token_hash, registered_at) VALUES (:key, :hostname, :token_hash, :now)
ON CONFLICT DO NOTHING
RETURNING key
