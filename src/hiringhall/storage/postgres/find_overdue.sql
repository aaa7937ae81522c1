-- Differs: each is looked up by itself, never joined in bulk.
-- Calls that have not ended and whose deadline passed, the earliest first, and how many parts of each go on.
SELECT r.work, w.waiting_on
FROM request AS r CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w
WHERE r.parent IS NULL AND r.deadline_at > :since AND r.deadline_at <= :until AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
ORDER BY r.deadline_at, r.work
LIMIT :limit
