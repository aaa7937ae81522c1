-- Remove a service.
DELETE FROM service WHERE id = :service
RETURNING id
