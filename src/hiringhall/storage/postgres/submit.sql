-- Make calls of the usual kind in one statement: as many of the asks, in their order, as come before the first that is not
-- usual. Usual is a call of a known method, of which the service says nothing special, for a lane that there is, while the
-- queue of the service has room.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), asked AS MATERIALIZED (
    SELECT * FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:request_id AS text[]), CAST(:client AS text[]), CAST(:service AS text[]),
        CAST(:method AS text[]), CAST(:dispatch AS text[]), CAST(:exclusive AS text[]), CAST(:race AS text[]),
        CAST(:policy AS text[]), CAST(:priority AS bigint[]), CAST(:deadline_ms AS bigint[]), CAST(:params AS bytea[]),
        CAST(:traceparent AS text[]), CAST(:queue_limit AS bigint[])
    ) AS asked (
        ordinal, request_id, client, service, method, dispatch, exclusive, race, policy, priority, deadline_ms, params,
        traceparent, queue_limit
    )
), queue AS MATERIALIZED (
    SELECT named.service, coalesce((
        SELECT sum(tally.n)
        FROM lane JOIN tally ON tally.lane = lane.id AND tally.state = {ready}
        WHERE lane.service = named.service AND lane.method IS NOT NULL
    ), 0) AS ready
    FROM (SELECT DISTINCT asked.service FROM asked) AS named
), meant AS MATERIALIZED (
    SELECT asked.ordinal, lane.id AS lane, lane.key, lane.dispatch
    FROM asked
    JOIN service ON service.id = asked.service AND CAST(service.methods AS json) -> asked.method IS NULL
    JOIN lane ON lane.key = CASE coalesce(asked.dispatch, service.dispatch)
        WHEN {exclusive} THEN asked.exclusive WHEN {race} THEN asked.race END
    WHERE EXISTS (SELECT FROM service_method AS known WHERE known.service = asked.service AND known.method = asked.method)
    ORDER BY lane.key
    FOR KEY SHARE OF lane, service  -- whoever deletes the service waits for these calls, or they for its end
), judged AS MATERIALIZED (
    SELECT asked.*, meant.lane, meant.key, meant.dispatch AS chosen,
        count(*) FILTER (
            WHERE meant.lane IS NULL OR queue.ready + asked.turn > asked.queue_limit
        ) OVER (ORDER BY asked.ordinal) AS unusual
    FROM (SELECT asked.*, row_number() OVER (PARTITION BY asked.service ORDER BY asked.ordinal) AS turn FROM asked) AS asked
    JOIN queue ON queue.service = asked.service
    LEFT JOIN meant ON meant.ordinal = asked.ordinal
), numbered AS MATERIALIZED (
    SELECT accepted.*, nextval('work_id') AS work, moment.now
    FROM (SELECT * FROM judged WHERE judged.unusual = 0 ORDER BY judged.ordinal) AS accepted CROSS JOIN moment
), made AS (
    INSERT INTO work (id, lane, state, priority, seq, waiting_on, version)
    SELECT work, lane, {ready}, priority, work, 0, 1 FROM numbered
), described AS (
    INSERT INTO request (
        work, request_id, client, service, method, dispatch, lane, policy, deadline_at, made_at, traceparent
    )
    SELECT work, request_id, client, service, method, chosen, lane, policy, now + deadline_ms, now, traceparent FROM numbered
), filled AS (
    INSERT INTO payload (work, params) SELECT work, params FROM numbered
), readied AS MATERIALIZED (
    SELECT lane, key, count(*) AS n FROM numbered GROUP BY lane, key
), counted AS (
    INSERT INTO tally (lane, state, n) SELECT lane, {ready}, n FROM readied
), rung AS MATERIALIZED (
    SELECT json_object_agg(key, n) AS lanes FROM readied
), told AS MATERIALIZED (
    SELECT CAST(lanes AS text) AS lanes, CASE WHEN lanes IS NOT NULL THEN pg_notify({rings_channel}, (
        SELECT CASE WHEN octet_length(whole) <= {announcement_bytes} THEN whole
            ELSE CAST(json_build_object('origin', CAST(:origin AS text), 'rings', json_build_object({everything}, 1)) AS text) END
        FROM (SELECT CAST(json_build_object('origin', CAST(:origin AS text), 'lanes', lanes) AS text) AS whole) AS payload
    )) END AS sent
    FROM rung
)
SELECT numbered.ordinal, told.lanes FROM numbered CROSS JOIN told ORDER BY numbered.ordinal
