-- A worker is offered nothing any more.
DELETE FROM offer WHERE worker = :worker
RETURNING work, offered_at
