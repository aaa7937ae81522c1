-- The unit of a call that has not ended, if it was ever handed to this worker.
SELECT CAST(:ordinal AS integer), r.work
FROM request AS r JOIN work AS w ON w.id = r.work
WHERE r.request_id = :name AND r.service = :service AND (w.state NOT IN {final} OR w.retry_at IS NOT NULL)
    AND EXISTS (SELECT 1 FROM hand_over AS h WHERE h.name = :name AND h.worker = :worker)
