-- A refresh token.
SELECT sid, used_at, superseded FROM refresh_token WHERE hash = :hash
