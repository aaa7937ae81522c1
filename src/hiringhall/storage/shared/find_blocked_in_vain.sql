-- Open edges whose dependency is satisfied: of one plan, of plans applied lately, or of all.
SELECT u.dependency, u.dependent
FROM plan AS p
JOIN task AS t ON t.lane = p.lane
JOIN unmet AS u ON u.dependent = t.work
JOIN work AS w ON w.id = u.dependency
WHERE w.state IN {satisfied}
    AND (CAST(:plan AS text) IS NULL OR p.id = CAST(:plan AS text))
    AND (CAST(:since AS bigint) IS NULL OR p.applied_at >= CAST(:since AS bigint))
LIMIT :limit
