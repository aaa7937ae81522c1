-- The rows of this lane are to be deleted.
INSERT INTO doomed (lane) VALUES (:lane)
