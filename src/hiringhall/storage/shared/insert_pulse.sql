-- The first sign of life of a worker.
INSERT INTO pulse (worker, last_seen) VALUES (:worker, :last_seen)
ON CONFLICT (worker) DO UPDATE SET last_seen = excluded.last_seen, last_beat = NULL, gaps = '', offline = 0
