-- How the children of a broadcast ended.
SELECT r.child_of, a.answer, a.result, a.error_text
FROM request AS r JOIN result AS a ON a.work = r.work
WHERE r.parent = :parent
ORDER BY r.work
