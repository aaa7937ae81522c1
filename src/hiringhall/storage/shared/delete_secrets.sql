-- End all secrets of a service or client.
DELETE FROM secret WHERE role = :role AND owner = :owner
