-- Plans that have been finished for long.
SELECT id FROM plan WHERE finished_at IS NOT NULL AND finished_at < :before LIMIT :limit
