-- The logins of a client.
SELECT sid FROM session WHERE service IS NULL AND subject = :client
