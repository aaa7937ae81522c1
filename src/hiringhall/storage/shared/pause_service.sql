-- Stop or go on handing out the calls of a service.
UPDATE service SET paused = :paused WHERE id = :service
RETURNING id
