-- Store a plan, or note that it was applied again.
INSERT INTO plan (id, name, lane, applied_at, traceparent) VALUES (:plan, :name, :lane, :now, :traceparent)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, applied_at = excluded.applied_at, traceparent = excluded.traceparent,
    finished_at = NULL
