-- A page of services.
SELECT s.id, s.dispatch, s.methods, s.paused, s.made_at FROM service AS s WHERE s.id > :after ORDER BY s.id LIMIT :limit
