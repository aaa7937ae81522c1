-- One plan.
SELECT p.id, p.name, l.paused, p.applied_at, p.lane FROM plan AS p JOIN lane AS l ON l.id = p.lane WHERE p.id = :plan
