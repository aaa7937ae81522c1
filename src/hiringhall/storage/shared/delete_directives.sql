-- Forget what a worker was told.
DELETE FROM directive WHERE worker = :worker
