-- Store a plan, or note that it was applied again.
INSERT INTO plan (id, name, lane, applied_at) VALUES (:plan, :name, :lane, :now)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, applied_at = excluded.applied_at, finished_at = NULL
