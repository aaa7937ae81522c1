-- Remove all settings of a service.
DELETE FROM setting WHERE service = :service
