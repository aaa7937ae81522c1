-- The refresh tokens that were given out for one did not arrive.
UPDATE refresh_token SET superseded = 1 WHERE parent = :hash
