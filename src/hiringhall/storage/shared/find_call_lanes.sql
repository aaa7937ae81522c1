-- Lanes by key.
SELECT key, id FROM lane WHERE key {any:keys text}
