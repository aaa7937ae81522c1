-- Forget the refresh tokens of a login.
DELETE FROM refresh_token WHERE sid = :sid
