-- The logins of the workers of a service.
SELECT sid FROM session WHERE service = :service
