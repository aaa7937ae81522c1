-- Forget refresh tokens that were used long ago.
DELETE FROM refresh_token WHERE hash IN (SELECT hash FROM refresh_token WHERE used_at < :before LIMIT :limit)
RETURNING sid
