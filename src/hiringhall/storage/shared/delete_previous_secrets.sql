-- End the secrets that are on their way out.
DELETE FROM secret WHERE role = :role AND owner = :owner AND valid_until IS NOT NULL
