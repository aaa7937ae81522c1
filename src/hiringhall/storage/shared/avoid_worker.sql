-- For a while a call is kept for others than the worker that had it last.
UPDATE request SET avoid_until = :avoid_until WHERE work = :work
