-- One of the refresh tokens that were given out for the same one is used: the others did not arrive.
UPDATE refresh_token SET superseded = 1
WHERE parent = (SELECT used.parent FROM refresh_token AS used WHERE used.hash = :hash) AND hash <> :hash
