-- When a unit was made.
SELECT made_at FROM task WHERE work = :work
