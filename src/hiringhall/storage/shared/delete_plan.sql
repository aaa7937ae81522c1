-- Remove a plan.
DELETE FROM plan WHERE id = :plan
