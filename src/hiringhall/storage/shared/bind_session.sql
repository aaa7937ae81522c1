-- A login acts for this incarnation of a worker from now on, unless it acts for an earlier one, or has ended.
UPDATE session SET incarnation = :incarnation
WHERE sid = :session AND ended_at IS NULL AND role = 'worker' AND service = :service AND subject = :worker_id
    AND (incarnation IS NULL OR incarnation = :before)
RETURNING sid
