-- Workers that have not been heard for long and are not yet known to be offline.
SELECT worker, last_seen, last_beat, gaps FROM pulse
WHERE offline = 0 AND last_seen < :before
ORDER BY last_seen
LIMIT :limit
