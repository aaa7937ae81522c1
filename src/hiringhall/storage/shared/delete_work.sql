-- Delete a unit of work.
DELETE FROM work WHERE id = :work
