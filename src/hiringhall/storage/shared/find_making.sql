-- When a unit was made, and in which state.
SELECT made_at, made_as FROM task WHERE work = :work
UNION ALL
SELECT made_at, CASE WHEN dispatch = {broadcast} AND parent IS NULL THEN {waiting} ELSE {ready} END FROM request WHERE work = :work
