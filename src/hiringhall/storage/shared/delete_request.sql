-- Delete a call.
DELETE FROM request WHERE work = :work
