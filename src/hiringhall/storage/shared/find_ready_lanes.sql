-- Which lanes have something to be taken.
SELECT l.key FROM lane AS l
WHERE l.key {any:keys text} AND l.paused = 0
    AND EXISTS (SELECT 1 FROM work AS w WHERE w.lane = l.id AND w.state = {ready})
