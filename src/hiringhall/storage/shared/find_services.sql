-- Services by id.
SELECT s.id, s.dispatch, s.methods, s.paused, s.made_at FROM service AS s WHERE s.id {any:services text}
