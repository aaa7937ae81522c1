-- Differs: the lanes stay until the transaction ends.
-- Lanes by key.
SELECT key, id FROM lane WHERE key {any:keys text} ORDER BY key FOR KEY SHARE
