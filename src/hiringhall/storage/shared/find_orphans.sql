-- Units whose holder is no longer known. Distinct holders are few, and each is looked up once.
SELECT id FROM work
WHERE holder IN (
    SELECT holder FROM work WHERE holder IS NOT NULL
    EXCEPT
    SELECT key FROM worker
)
ORDER BY id
LIMIT :limit
