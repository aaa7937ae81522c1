-- The failed units of a lane.
SELECT w.id FROM task AS t JOIN work AS w ON w.id = t.work
WHERE t.lane = :lane AND w.state = {failed}
ORDER BY w.id
