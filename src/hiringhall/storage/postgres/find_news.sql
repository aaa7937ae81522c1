-- Which of some calls have ended, are gone, or have feedback, and how much.
SELECT wanted.name, coalesce(r.feedback_count, 0), r.work IS NULL OR (w.state IN {final} AND w.retry_at IS NULL)
FROM unnest(CAST(:names AS text[])) AS wanted (name)
LEFT JOIN LATERAL (SELECT * FROM request WHERE request.request_id = wanted.name OFFSET 0) AS r ON true  -- never in bulk
LEFT JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w ON true
WHERE r.work IS NULL OR r.feedback_count > 0 OR (w.state IN {final} AND w.retry_at IS NULL)
