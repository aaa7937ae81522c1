-- Tell a worker to stop a unit.
INSERT INTO directive (worker, target, at) VALUES (:worker, :target, :at)
ON CONFLICT (worker, target) DO UPDATE SET at = excluded.at
