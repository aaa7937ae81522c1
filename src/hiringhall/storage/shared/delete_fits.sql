-- A worker may be given nothing.
DELETE FROM fit WHERE worker = :worker
