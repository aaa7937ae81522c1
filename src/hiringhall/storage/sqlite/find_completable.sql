-- The task that a worker was handed under exactly this version and holds still, if it waits for nothing.
SELECT CAST(:ordinal AS integer), w.id, w.lane, h.lane_key, w.version, w.priority, t.detail
FROM hand_over AS h
CROSS JOIN work AS w ON w.id = h.work
CROSS JOIN task AS t ON t.work = w.id
WHERE h.worker = :worker AND h.name = :name AND h.version = :version AND h.gone_at IS NULL
    AND w.state = {held} AND w.holder = h.worker AND h.version IN (w.handed_version, w.version) AND w.waiting_on = 0
