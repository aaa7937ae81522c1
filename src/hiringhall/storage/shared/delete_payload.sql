-- Forget what a call was about.
DELETE FROM payload WHERE work = :work
