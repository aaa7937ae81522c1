-- The signs of life of some workers.
SELECT worker, last_seen, last_beat, gaps FROM pulse WHERE worker {any:workers text} ORDER BY worker
