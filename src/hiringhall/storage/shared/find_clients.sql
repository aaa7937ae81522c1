-- Clients by id.
SELECT c.id, c.allow, c.made_at FROM client AS c WHERE c.id {any:clients text}
