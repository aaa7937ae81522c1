-- The lanes of some units, once for each that is ready.
SELECT l.key FROM work AS w JOIN lane AS l ON l.id = w.lane WHERE w.id {any:ids bigint} AND w.state = {ready}
