-- Some worker of a service registered a method.
INSERT INTO service_method (service, method) VALUES (:service, :method)
ON CONFLICT DO NOTHING
