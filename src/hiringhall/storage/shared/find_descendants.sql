-- All units that depend on one, directly or not, over open edges.
WITH RECURSIVE descendant (work) AS (
    SELECT dependent FROM unmet WHERE dependency = :work
    UNION
    SELECT unmet.dependent FROM unmet JOIN descendant ON unmet.dependency = descendant.work
)
SELECT work FROM descendant ORDER BY work
