-- One change of a plan's file at a time.
UPDATE lane SET key = key WHERE key = :key
RETURNING id
