-- Differs: one statement for all rows.
-- How calls of some methods are to be handled, and whether the methods are known.
SELECT asked.ordinal, s.dispatch, s.methods, s.paused,
    EXISTS (SELECT FROM service_method AS m WHERE m.service = s.id AND m.method = asked.method),
    EXISTS (SELECT FROM service_method AS m WHERE m.service = s.id)
FROM unnest(CAST(:ordinal AS bigint[]), CAST(:service AS text[]), CAST(:method AS text[])) AS asked (ordinal, service, method)
JOIN service AS s ON s.id = asked.service
