-- The methods that some worker of a service ever registered.
SELECT method FROM service_method WHERE service = :service ORDER BY method
