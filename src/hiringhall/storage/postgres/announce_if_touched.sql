-- The end of one statement with touch_lane: tell the other replicas of rings, if there are any; all of it fails if the lane
-- was not to be had.
SELECT insist_on((SELECT count(*) FROM touch_lane) = 1),
    CASE WHEN CAST(:payload AS text) IS NOT NULL THEN pg_notify({rings_channel}, CAST(:payload AS text)) END
