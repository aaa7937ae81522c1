-- Set a setting of a service.
INSERT INTO setting (service, name, sealed) VALUES (:service, :name, :sealed)
ON CONFLICT (service, name) DO UPDATE SET sealed = excluded.sealed
