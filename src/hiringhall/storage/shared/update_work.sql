-- Write a unit that its decision changed; the row was read in the same transaction and is locked.
UPDATE work
SET state = :state, priority = :priority, seq = :seq, waiting_on = :waiting_on, version = :version,
    handed_version = :handed_version, started = :started, holder = :holder, last_holder = :last_holder,
    handed_at = :handed_at, run_until = :run_until, retry_at = :retry_at, attempts = :attempts, abandoned = :abandoned,
    cause = :cause, cancelling = :cancelling
WHERE id = :id
