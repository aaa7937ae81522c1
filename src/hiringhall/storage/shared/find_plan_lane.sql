-- The lane of a plan, and whether it is paused.
SELECT l.id, l.paused, p.name FROM plan AS p JOIN lane AS l ON l.id = p.lane WHERE p.id = :plan
