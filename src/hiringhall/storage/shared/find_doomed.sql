-- Lanes whose rows are to be deleted.
SELECT lane FROM doomed ORDER BY lane LIMIT :limit
