-- Differs: there is one writer.
-- One change of a plan's file at a time.
SELECT id FROM lane WHERE key = :key
