-- Logins that have ended.
SELECT sid FROM session WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit
