-- Whether a worker may be given the calls of a lane now.
SELECT CAST(:ordinal AS integer)
FROM fit
JOIN lane ON lane.id = fit.lane
WHERE fit.worker = :worker AND fit.lane = :lane AND lane.paused = 0
