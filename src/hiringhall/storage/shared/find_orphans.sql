-- Units whose holder is not known, or offline: it may have been handed a unit since. Distinct holders are few.
SELECT id FROM work
WHERE holder IN (
    SELECT holder FROM work WHERE holder IS NOT NULL
    EXCEPT
    SELECT worker FROM pulse WHERE offline = 0
)
ORDER BY id
LIMIT :limit
