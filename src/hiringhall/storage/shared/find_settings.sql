-- The sealed settings of a service, or of all.
SELECT service, name, sealed FROM setting WHERE CAST(:service AS text) IS NULL OR service = :service
ORDER BY service, name
