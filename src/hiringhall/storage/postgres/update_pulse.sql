-- Differs: one statement for all rows.
-- Write down signs of life; whoever is heard is online.
UPDATE pulse
SET last_seen = row.last_seen, last_beat = row.last_beat, gaps = row.gaps, offline = 0
FROM unnest(CAST(:worker AS text[]), CAST(:last_seen AS bigint[]), CAST(:last_beat AS bigint[]), CAST(:gaps AS text[]))
    AS row (worker, last_seen, last_beat, gaps)
WHERE pulse.worker = row.worker
