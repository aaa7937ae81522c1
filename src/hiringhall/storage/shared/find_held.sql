-- The held units of a lane, found by the index of holders.
SELECT id FROM work WHERE holder IS NOT NULL AND lane = :lane ORDER BY id
