-- The secret of a service or client that is not on its way out.
SELECT id FROM secret WHERE role = :role AND owner = :owner AND valid_until IS NULL
