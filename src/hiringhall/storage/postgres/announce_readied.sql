-- The end of a statement that has `readied` units, so many in each lane: tell the other replicas of them, and say what was told.
SELECT CAST(rung.lanes AS text) AS lanes, CASE WHEN rung.lanes IS NOT NULL THEN pg_notify({rings_channel}, (
    SELECT CASE WHEN octet_length(whole) <= {announcement_bytes} THEN whole
        ELSE CAST(json_build_object('origin', CAST(:origin AS text), 'rings', json_build_object({everything}, 1)) AS text) END
    FROM (SELECT CAST(json_build_object('origin', CAST(:origin AS text), 'lanes', rung.lanes) AS text) AS whole) AS payload
)) END AS sent
FROM (SELECT json_object_agg(lane.key, readied.n) AS lanes FROM readied JOIN lane ON lane.id = readied.lane) AS rung
