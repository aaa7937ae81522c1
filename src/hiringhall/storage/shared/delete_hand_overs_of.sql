-- Forget to whom a unit was handed.
DELETE FROM hand_over WHERE work = :work
