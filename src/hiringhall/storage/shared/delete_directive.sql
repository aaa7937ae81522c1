-- The worker answered for a unit that it was told to stop.
DELETE FROM directive WHERE worker = :worker AND target = :target
RETURNING target
