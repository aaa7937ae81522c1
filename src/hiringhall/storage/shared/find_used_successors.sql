-- The refresh tokens that were given out for one and have been used.
SELECT hash FROM refresh_token WHERE parent = :hash AND used_at IS NOT NULL
