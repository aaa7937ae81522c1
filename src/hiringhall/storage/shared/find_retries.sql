-- The retries that are due first.
SELECT id, retry_at FROM work WHERE retry_at IS NOT NULL ORDER BY retry_at LIMIT :limit
