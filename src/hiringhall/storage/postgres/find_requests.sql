-- Calls by id, as their clients see them.
SELECT w.id, r.request_id, r.client, r.service, r.method, w.state, w.cancelling,
    w.state = {ready} AND EXISTS (SELECT 1 FROM offer AS o WHERE o.work = w.id), w.version, r.made_at, r.deadline_at,
    (SELECT min(h.at) FROM hand_over AS h WHERE h.work = w.id), a.at, a.answer, a.result, a.error_text, w.holder, w.last_holder,
    w.attempts, w.abandoned, w.retry_at, r.feedback_count, r.dispatch, w.priority, coalesce(l.paused, 0)
FROM request AS r
JOIN LATERAL (SELECT * FROM work WHERE work.id = r.work OFFSET 0) AS w ON true  -- looked up for each, never joined in bulk
LEFT JOIN LATERAL (SELECT * FROM lane WHERE lane.id = w.lane OFFSET 0) AS l ON true
LEFT JOIN LATERAL (SELECT * FROM result WHERE result.work = r.work OFFSET 0) AS a ON true
WHERE r.request_id = ANY (CAST(:names AS text[]))
