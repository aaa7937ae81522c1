-- Stored feedback of a call after a number.
SELECT f.number, r.request_id, f.st, f.sn, f.ft, f.pr, f.fc, f.at, f.worker
FROM feedback AS f JOIN request AS r ON r.work = f.work
WHERE f.work = :work AND f.number > :after
ORDER BY f.number
LIMIT :limit
