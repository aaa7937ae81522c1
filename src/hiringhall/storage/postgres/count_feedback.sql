-- Differs: one statement for all rows; the rows are locked in ascending order.
-- Give numbers to new items of feedback on calls.
WITH row AS MATERIALIZED (
    SELECT asked.work, asked.n
    FROM unnest(CAST(:work AS bigint[]), CAST(:n AS bigint[])) AS asked (work, n)
    JOIN request AS r ON r.work = asked.work
    ORDER BY r.work
    FOR UPDATE OF r
)
UPDATE request SET feedback_count = feedback_count + row.n FROM row WHERE request.work = row.work
RETURNING request.work, request.feedback_count
