-- Tell a worker to take nothing new, to go on, or to end; what is not said stays as it is.
UPDATE worker
SET quiet = coalesce(CAST(:quiet AS integer), quiet), terminate = coalesce(CAST(:terminate AS integer), terminate)
WHERE key = :key
RETURNING key
