-- Differs: the clock is read in the statement.
-- Which lanes have something to be taken: of these, and of the lanes of calls made lately. The first ready unit is sought, not
-- whether there are any, lest all be gathered.
SELECT l.key FROM lane AS l
WHERE l.key {any:keys text} AND l.paused = 0
    AND (
        SELECT w.id FROM work AS w WHERE w.lane = l.id AND w.state = {ready} ORDER BY w.priority, w.seq, w.id LIMIT 1
    ) IS NOT NULL
UNION
SELECT l.key FROM lane AS l
WHERE l.service IS NOT NULL AND l.method IS NOT NULL AND l.made_at > coalesce(CAST(:now AS bigint), clock_ms()) - :within AND l.paused = 0
    AND (
        SELECT w.id FROM work AS w WHERE w.lane = l.id AND w.state = {ready} ORDER BY w.priority, w.seq, w.id LIMIT 1
    ) IS NOT NULL
