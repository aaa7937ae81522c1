-- Calls by id, as their clients see them.
SELECT w.id, r.request_id, r.client, r.service, r.method, w.state, w.cancelling,
    w.state = {ready} AND EXISTS (SELECT 1 FROM offer AS o WHERE o.work = w.id), w.version, r.made_at, r.deadline_at,
    (SELECT min(h.at) FROM hand_over AS h WHERE h.work = w.id), a.at, a.answer, a.result, a.error_text, w.holder, w.last_holder,
    w.attempts, w.abandoned, w.retry_at, r.feedback_count, r.dispatch, w.priority, coalesce(l.paused, 0)
FROM json_each(:names) AS wanted
CROSS JOIN request AS r ON r.request_id = wanted.value
CROSS JOIN work AS w ON w.id = r.work
LEFT JOIN lane AS l ON l.id = w.lane
LEFT JOIN result AS a ON a.work = r.work
