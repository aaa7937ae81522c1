-- Store what hardly changes of a call while it is worked on.
INSERT INTO request (
    work, request_id, client, service, method, dispatch, lane, policy, deadline_at, parent, child_of, made_at, traceparent
)
VALUES (
    :work, :request_id, :client, :service, :method, :dispatch, :lane, :policy, :deadline_at, :parent, :child_of,
    :made_at, :traceparent
)
