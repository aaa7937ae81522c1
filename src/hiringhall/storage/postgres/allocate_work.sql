-- Numbers for new units, one row each.
SELECT nextval('work_id') FROM generate_series(1, CAST(:n AS bigint))
