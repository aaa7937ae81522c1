-- The signs of life of some workers as they are now.
SELECT worker, last_seen, last_beat, gaps FROM pulse WHERE worker {any:workers text}
