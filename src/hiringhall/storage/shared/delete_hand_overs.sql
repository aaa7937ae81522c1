-- Forget hand-overs whose unit has been gone for long.
DELETE FROM hand_over
WHERE (worker, name, version) IN (
    SELECT worker, name, version FROM hand_over WHERE gone_at IS NOT NULL AND gone_at < :before LIMIT :limit
)
RETURNING work
