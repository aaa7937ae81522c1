-- To whom a unit was handed, and why each time.
SELECT at, version, worker, cause FROM hand_over WHERE work = :work ORDER BY version
