-- What else happened to a unit.
SELECT at, version, move, state, worker, cause, reason FROM event WHERE work = :work ORDER BY version
