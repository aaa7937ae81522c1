-- Forget secrets that have ended.
DELETE FROM secret WHERE valid_until <= :now
RETURNING id
