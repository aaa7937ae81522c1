-- Sign with a key from now on, unless there is another that does.
INSERT INTO signing_key (kid, sealed, made_at, current) VALUES (:kid, :sealed, :now, 1)
ON CONFLICT DO NOTHING
RETURNING kid
