-- Differs: each is looked up by itself, never joined in bulk.
-- Calls that ended before a time; a child of a broadcast is needed as long as that goes on.
SELECT a.work
FROM result AS a
CROSS JOIN LATERAL (SELECT * FROM request WHERE request.work = a.work OFFSET 0) AS r
CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = a.work OFFSET 0) AS w
WHERE a.at < :before AND w.state IN {final} AND w.retry_at IS NULL
    AND coalesce((SELECT up.state FROM work AS up WHERE up.id = r.parent), '') <> {waiting}
ORDER BY a.at
LIMIT :limit
