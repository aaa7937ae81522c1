-- End a login.
UPDATE session SET ended_at = :now WHERE sid = :sid AND ended_at IS NULL
