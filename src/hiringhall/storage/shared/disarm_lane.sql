-- What is left of a deleted plan is no longer held or to be retried, so that no sweep looks at it.
UPDATE work SET holder = NULL, run_until = NULL, retry_at = NULL
WHERE lane = :lane AND (holder IS NOT NULL OR retry_at IS NOT NULL)
