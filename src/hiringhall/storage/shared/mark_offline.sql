-- A worker is offline, unless it was heard since it was judged.
UPDATE pulse SET offline = 1 WHERE worker = :worker AND last_seen = :last_seen
RETURNING worker
