-- The lane of a plan, and what the plan is called.
SELECT lane, name FROM plan WHERE id = :plan
