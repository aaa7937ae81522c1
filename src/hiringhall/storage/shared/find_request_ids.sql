-- The ids of calls, by the numbers of their units.
SELECT request_id FROM request WHERE work {any:works bigint}
