-- Differs: one statement for all rows.
-- Workers are shown calls that belong to the first to lock them.
INSERT INTO offer (work, worker, offered_at)
SELECT * FROM unnest(CAST(:work AS bigint[]), CAST(:worker AS text[]), CAST(:offered_at AS bigint[]))
ON CONFLICT (worker, work) DO UPDATE SET offered_at = excluded.offered_at
