-- Store a refresh token, and which one it was given out for.
INSERT INTO refresh_token (hash, sid, parent, made_at) VALUES (:hash, :sid, :parent, :now)
