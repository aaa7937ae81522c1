-- Forget the signs of life of a worker.
DELETE FROM pulse WHERE worker = :worker
