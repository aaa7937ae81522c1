-- What some workers have to stop.
SELECT worker, target FROM directive WHERE worker {any:workers text} ORDER BY worker, at, target
