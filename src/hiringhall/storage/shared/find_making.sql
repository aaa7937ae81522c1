-- When a unit was made, and in which state.
SELECT made_at, made_as FROM task WHERE work = :work
