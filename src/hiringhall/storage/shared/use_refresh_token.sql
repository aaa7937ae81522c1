-- Use a refresh token, unless it was used.
UPDATE refresh_token SET used_at = :now WHERE hash = :hash AND used_at IS NULL AND superseded = 0
RETURNING sid
