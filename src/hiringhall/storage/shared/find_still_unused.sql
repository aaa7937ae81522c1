-- Those of some lanes in which there is still no call.
SELECT l.id FROM lane AS l WHERE l.id {any:lanes bigint} AND NOT EXISTS (SELECT 1 FROM request AS r WHERE r.lane = l.id)
