-- Make a lane, or lock the one that another replica is making.
INSERT INTO lane (key) VALUES (:key)
ON CONFLICT (key) DO UPDATE SET key = excluded.key
RETURNING id
