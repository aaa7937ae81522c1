-- How many tasks a lane has, and the last place in its order.
SELECT count(*), coalesce(max(seq), -1) FROM task WHERE lane = :lane
