-- Forget the feedback of some calls.
DELETE FROM feedback WHERE work {any:ids bigint}
