-- A page of clients.
SELECT c.id, c.allow, c.made_at FROM client AS c WHERE c.id > :after ORDER BY c.id LIMIT :limit
