-- What a worker was told is repeated for a while only.
DELETE FROM directive
WHERE (worker, target) IN (SELECT worker, target FROM directive WHERE at < :before LIMIT :limit)
RETURNING worker
