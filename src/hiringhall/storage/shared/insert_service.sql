-- Make a service, unless there is one.
INSERT INTO service (id, dispatch, methods, made_at) VALUES (:service, :dispatch, :methods, :now)
ON CONFLICT DO NOTHING
RETURNING id
