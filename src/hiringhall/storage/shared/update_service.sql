-- Change a service; what is not said stays as it is.
UPDATE service SET dispatch = coalesce(CAST(:dispatch AS text), dispatch), methods = coalesce(CAST(:methods AS text), methods)
WHERE id = :service
RETURNING id
