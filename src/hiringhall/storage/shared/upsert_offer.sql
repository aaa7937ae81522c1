-- A worker is shown a call that belongs to the first to lock it.
INSERT INTO offer (work, worker, offered_at) VALUES (:work, :worker, :offered_at)
ON CONFLICT (worker, work) DO UPDATE SET offered_at = excluded.offered_at
