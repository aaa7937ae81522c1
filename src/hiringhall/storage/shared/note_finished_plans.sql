-- Note when plans were first found to be finished, and which are no longer.
UPDATE plan
SET finished_at = CASE WHEN finished_at IS NULL THEN CAST(:now AS bigint) ELSE NULL END
WHERE lane IN (
    SELECT p.lane
    FROM plan AS p
    LEFT JOIN tally AS t ON t.lane = p.lane AND t.state NOT IN {final}
    GROUP BY p.lane, p.finished_at
    HAVING (coalesce(sum(t.n), 0) = 0) = (p.finished_at IS NULL)
    LIMIT :limit
)
