-- Make a client, unless there is one.
INSERT INTO client (id, allow, made_at) VALUES (:client, :allow, :now)
ON CONFLICT DO NOTHING
RETURNING id
