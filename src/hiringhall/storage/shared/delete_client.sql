-- Remove a client.
DELETE FROM client WHERE id = :client
RETURNING id
