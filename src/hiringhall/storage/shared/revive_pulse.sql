-- A worker that has started is heard.
INSERT INTO pulse (worker, last_seen) VALUES (:worker, :last_seen)
ON CONFLICT (worker) DO UPDATE SET last_seen = excluded.last_seen, offline = 0
