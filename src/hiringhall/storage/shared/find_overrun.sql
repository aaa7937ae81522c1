-- Units held past their run limit.
SELECT id FROM work WHERE run_until IS NOT NULL AND run_until < :before ORDER BY run_until LIMIT :limit
