-- Deadlines up to then have been seen to.
UPDATE hall SET expired_until = :until WHERE only_row = 1 AND expired_until < :until
