-- How many calls of some services are ready to be handed to a worker.
SELECT l.service, sum(t.n)
FROM lane AS l JOIN tally AS t ON t.lane = l.id AND t.state = {ready}
WHERE l.service {any:services text} AND l.method IS NOT NULL
GROUP BY l.service
