-- All open edges above some units: (dependency, dependent, name of the dependency if it failed for good).
WITH RECURSIVE below (work) AS (
    SELECT dependent FROM unmet WHERE dependent {any:ids bigint}
    UNION
    SELECT unmet.dependency FROM unmet JOIN below ON unmet.dependent = below.work
)
SELECT u.dependency, u.dependent, CASE WHEN w.state = {failed} AND w.retry_at IS NULL THEN t.task_id END
FROM below
JOIN unmet AS u ON u.dependent = below.work
JOIN work AS w ON w.id = u.dependency
JOIN task AS t ON t.work = u.dependency
