-- Hand a unit over that is ready.
UPDATE work
SET state = {held}, version = :version, handed_version = :version, started = 0, holder = :holder, handed_at = :handed_at,
    run_until = :run_until
WHERE id = :id AND state IN {sources:hold}
