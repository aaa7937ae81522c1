-- Write the pulse. After a time without one, heard_since becomes now. Of several replicas, one notices.
UPDATE hall
SET heard_since = CASE WHEN pulse_at < :deaf_before OR pulse_at > :now THEN :now ELSE heard_since END, pulse_at = :now
WHERE only_row = 1
RETURNING heard_since = pulse_at
