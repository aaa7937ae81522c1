-- The signs of life of some workers, locked in one order since several replicas write them.
SELECT worker, last_seen, last_beat, gaps FROM pulse WHERE worker {any:workers text} ORDER BY worker FOR UPDATE
