-- Make a lane of a service. If another replica makes the same meanwhile, that is a conflict, and the transaction starts again.
INSERT INTO lane (key, paused, service, method, dispatch, requires, made_at)
VALUES (:key, :paused, :service, :method, :dispatch, :requires, :now)
RETURNING id
