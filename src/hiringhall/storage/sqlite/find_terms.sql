-- How calls of a method are to be handled, and whether the method is known.
SELECT CAST(:ordinal AS integer), s.dispatch, s.methods, s.paused,
    EXISTS (SELECT 1 FROM service_method AS m WHERE m.service = s.id AND m.method = :method),
    EXISTS (SELECT 1 FROM service_method AS m WHERE m.service = s.id)
FROM service AS s WHERE s.id = :service
