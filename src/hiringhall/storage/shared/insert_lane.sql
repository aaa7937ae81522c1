-- Make a lane. If another replica makes the same meanwhile, that is a conflict: the apply starts again and sees its plan.
INSERT INTO lane (key) VALUES (:key)
RETURNING id
