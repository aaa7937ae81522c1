-- Differs: each is looked up by itself, never joined in bulk.
-- How the children of a broadcast ended.
SELECT r.child_of, a.answer, a.result, a.error_text
FROM request AS r
CROSS JOIN LATERAL (SELECT * FROM result WHERE result.work = r.work OFFSET 0) AS a
WHERE r.parent = :parent
ORDER BY r.work
