-- Forget a login.
DELETE FROM session WHERE sid = :sid
