-- For each of some waiting units, one failed task above it.
WITH RECURSIVE above (start, work) AS (
    SELECT dependent, dependency FROM unmet WHERE dependent {any:ids bigint}
    UNION
    SELECT above.start, unmet.dependency FROM unmet JOIN above ON unmet.dependent = above.work
)
SELECT above.start, min(t.task_id)
FROM above
JOIN work AS w ON w.id = above.work AND w.state = {failed} AND w.retry_at IS NULL
JOIN task AS t ON t.work = w.id
GROUP BY above.start
