-- Services whose lanes or workers are about to change.
SELECT id, paused FROM service WHERE id {any:services text} ORDER BY id
