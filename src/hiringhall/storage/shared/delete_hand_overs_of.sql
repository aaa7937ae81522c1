-- Forget to whom some units were handed.
DELETE FROM hand_over WHERE work {any:ids bigint}
