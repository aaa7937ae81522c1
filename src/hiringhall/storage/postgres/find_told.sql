-- Differs: one statement for all rows.
-- The units of calls that have not ended, as far as each was ever handed to the worker that tells about it.
SELECT asked.ordinal, r.work
FROM unnest(
    CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:service AS text[]), CAST(:name AS text[])
) AS asked (ordinal, worker, service, name)
JOIN request AS r ON r.request_id = asked.name AND r.service = asked.service
CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w  -- looked up for each, never joined in bulk
WHERE (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
    AND EXISTS (SELECT FROM hand_over AS h WHERE h.name = asked.name AND h.worker = asked.worker)
