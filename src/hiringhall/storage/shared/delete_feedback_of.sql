-- Forget the feedback of a call.
DELETE FROM feedback WHERE work = :work
