-- Write down signs of life; whoever is heard is online.
UPDATE pulse SET last_seen = :last_seen, last_beat = :last_beat, gaps = :gaps, offline = 0 WHERE worker = :worker
