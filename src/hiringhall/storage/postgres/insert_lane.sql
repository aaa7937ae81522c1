-- Differs: a replica that makes the same lane meanwhile is a conflict, after which the apply starts again and sees its plan.
-- Make a lane.
INSERT INTO lane (key) VALUES (:key)
RETURNING id
