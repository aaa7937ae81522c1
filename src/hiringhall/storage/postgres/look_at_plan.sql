-- What is stored of a plan, and with it what a change of it needs: the clock, who wrote the lane last, numbers for new units.
SELECT seen.*, clock_ms(), (SELECT CAST(CAST(lane.xmin AS text) AS bigint) FROM lane WHERE lane.key = :key),
    ARRAY(SELECT nextval('work_id') FROM generate_series(1, CAST(:n AS bigint)))
FROM (
    {statement:see_plan}
) AS seen
