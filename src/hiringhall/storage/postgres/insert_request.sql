-- Differs: one statement for all rows.
-- Store what hardly changes of calls while they are worked on.
INSERT INTO request (
    work, request_id, client, service, method, dispatch, lane, policy, deadline_at, parent, child_of, made_at, traceparent
)
SELECT * FROM unnest(
    CAST(:work AS bigint[]), CAST(:request_id AS text[]), CAST(:client AS text[]), CAST(:service AS text[]),
    CAST(:method AS text[]), CAST(:dispatch AS text[]), CAST(:lane AS bigint[]), CAST(:policy AS text[]),
    CAST(:deadline_at AS bigint[]), CAST(:parent AS bigint[]), CAST(:child_of AS text[]),
    CAST(:made_at AS bigint[]), CAST(:traceparent AS text[])
)
