-- Counts that consist of several deltas.
SELECT lane, state FROM tally GROUP BY lane, state HAVING count(*) > 1 ORDER BY lane, state LIMIT :limit
