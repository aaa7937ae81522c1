-- How many calls of each service are in which state; the parts of broadcasts, in the lanes of workers, are left out.
SELECT l.service, t.state, sum(t.n)
FROM lane AS l JOIN tally AS t ON t.lane = l.id
WHERE l.service IS NOT NULL AND l.method IS NOT NULL
GROUP BY l.service, t.state
