-- The keys of the lanes that some workers fit.
SELECT f.worker, l.key FROM fit AS f JOIN lane AS l ON l.id = f.lane WHERE f.worker {any:workers text} ORDER BY l.key
