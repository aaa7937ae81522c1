-- Differs: one statement for all rows.
-- The versions above the units' own under which workers were handed units of these names.
SELECT asked.ordinal, hand_over.version
FROM unnest(CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:name AS text[]), CAST(:version AS bigint[]))
    AS asked (ordinal, worker, name, version)
JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.name = asked.name
    AND hand_over.version > asked.version
