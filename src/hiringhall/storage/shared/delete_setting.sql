-- Remove a setting of a service.
DELETE FROM setting WHERE service = :service AND name = :name
