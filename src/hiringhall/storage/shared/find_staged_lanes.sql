-- Lanes that were never given a name.
SELECT id FROM lane WHERE key >= 'staged:' AND key < 'staged;'
