-- Differs: the clock is read in the statement.
-- Write down in one statement when workers were last heard; whoever is heard is online. Locked in one order, since several
-- replicas write them.
WITH sign AS MATERIALIZED (
    SELECT value ->> 0 AS worker, CAST(value ->> 1 AS bigint) AS age
    FROM json_array_elements(CAST(:signs AS json)) AS value
), locked AS MATERIALIZED (
    SELECT p.worker, sign.age
    FROM pulse AS p JOIN sign ON sign.worker = p.worker
    ORDER BY p.worker
    FOR UPDATE OF p
)
UPDATE pulse SET last_seen = greatest(last_seen, coalesce(CAST(:now AS bigint), clock_ms()) - locked.age), offline = 0
FROM locked
WHERE pulse.worker = locked.worker
