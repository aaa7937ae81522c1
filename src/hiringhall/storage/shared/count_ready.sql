-- How many units of a lane are ready, counted up to a limit.
SELECT count(*) FROM (SELECT 1 FROM work WHERE lane = :lane AND state = {ready} LIMIT :limit) AS some_ready
