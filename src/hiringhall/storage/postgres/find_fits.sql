-- Differs: each is looked up by itself, never joined in bulk.
-- The lanes that some workers fit and that are not paused, and how many units are ready in each, counted up to a limit.
WITH fitting AS MATERIALIZED (
    SELECT f.worker, f.lane FROM fit AS f WHERE f.worker {any:workers text}
), counted AS MATERIALIZED (
    SELECT l.id, l.dispatch, (
        SELECT count(*) FROM (SELECT 1 FROM work AS w WHERE w.lane = l.id AND w.state = {ready} LIMIT :limit) AS some_ready
    ) AS ready
    FROM (SELECT DISTINCT lane FROM fitting) AS named
    CROSS JOIN LATERAL (SELECT * FROM lane WHERE lane.id = named.lane AND lane.paused = 0 OFFSET 0) AS l
)
SELECT fitting.worker, counted.id, counted.dispatch, counted.ready
FROM counted JOIN fitting ON fitting.lane = counted.id
WHERE counted.ready > 0
