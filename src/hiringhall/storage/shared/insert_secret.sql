-- Store a secret of a service or client.
INSERT INTO secret (id, role, owner, kind, hash, made_at) VALUES (:id, :role, :owner, :kind, :hash, :now)
