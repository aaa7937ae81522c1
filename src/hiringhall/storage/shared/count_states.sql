-- How some units are counted, by lane.
SELECT lane, CASE WHEN retry_at IS NULL THEN state ELSE {retrying} END, count(*)
FROM work WHERE id {any:ids bigint}
GROUP BY 1, 2
