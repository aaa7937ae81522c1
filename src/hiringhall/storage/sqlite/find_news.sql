-- Which of some calls have ended, are gone, or have feedback, and how much.
SELECT wanted.value, coalesce(r.feedback_count, 0), r.work IS NULL OR (w.state IN {final} AND w.retry_at IS NULL)
FROM json_each(:names) AS wanted
LEFT JOIN request AS r ON r.request_id = wanted.value
LEFT JOIN work AS w ON w.id = r.work
WHERE r.work IS NULL OR r.feedback_count > 0 OR (w.state IN {final} AND w.retry_at IS NULL)
