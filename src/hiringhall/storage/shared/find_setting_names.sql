-- The names of the settings of services.
SELECT service, name FROM setting WHERE service {any:services text} ORDER BY service, name
