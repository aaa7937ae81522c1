-- Differs: one change of a service's lanes or workers at a time.
-- Services whose lanes or workers are about to change.
SELECT id, paused FROM service WHERE id {any:services text} ORDER BY id FOR UPDATE
