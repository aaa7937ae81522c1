-- Write the pulse, and tell what is due. After a time without a pulse, heard_since becomes now.
UPDATE hall
SET heard_since = CASE WHEN pulse_at < :now - :deaf_after_ms OR pulse_at > :now THEN :now ELSE heard_since END,
    pulse_at = :now
WHERE only_row = 1
RETURNING pulse_at, heard_since = pulse_at,
    (SELECT p.last_seen FROM pulse AS p WHERE p.offline = 0 ORDER BY p.last_seen LIMIT 1),
    (SELECT w.run_until FROM work AS w WHERE w.run_until IS NOT NULL ORDER BY w.run_until LIMIT 1),
    (SELECT w.retry_at FROM work AS w WHERE w.retry_at IS NOT NULL ORDER BY w.retry_at LIMIT 1),
    (SELECT r.deadline_at FROM request AS r WHERE r.parent IS NULL AND r.deadline_at > hall.expired_until
     ORDER BY r.deadline_at LIMIT 1)
