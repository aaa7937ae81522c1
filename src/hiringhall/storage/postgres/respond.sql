-- Accept successes of workers that hold the call, stand as they say and need not be told anything. What does not match is not
-- touched. Rows are locked in ascending order.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), asked AS MATERIALIZED (
    SELECT * FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:session AS text[]), CAST(:service AS text[]),
        CAST(:name AS text[]), CAST(:topic AS text[]), CAST(:result AS bytea[]), CAST(:key AS bytea[]), CAST(:body AS bytea[])
    ) AS asked (ordinal, worker, session, service, name, topic, result, key, body)
), standing AS MATERIALIZED (  -- no new incarnation is let in before this is done
    SELECT sw.worker, sw.service, sw.worker_id, sw.incarnation
    FROM service_worker AS sw
    WHERE sw.worker = ANY (ARRAY(SELECT asked.worker FROM asked))
    ORDER BY sw.worker
    FOR KEY SHARE
), acting AS MATERIALIZED (
    SELECT asked.*
    FROM asked
    JOIN standing ON standing.worker = asked.worker AND standing.service = asked.service
    JOIN session AS s ON s.sid = asked.session AND s.ended_at IS NULL AND s.role = 'worker'
        AND s.service = standing.service AND s.subject = standing.worker_id
        AND (s.incarnation IS NULL OR s.incarnation = standing.incarnation)
    WHERE (SELECT count(*) FROM directive WHERE directive.worker = asked.worker) = 0
), held AS MATERIALIZED (
    SELECT acting.*, work.id
    FROM acting
    CROSS JOIN LATERAL (SELECT * FROM request WHERE request.request_id = acting.name OFFSET 0) AS r
    JOIN work ON work.id = r.work AND work.state IN {sources:complete}
        AND work.holder IS NOT DISTINCT FROM acting.worker  -- an equation would tempt the planner to the index of holders
        AND work.waiting_on = 0
    WHERE r.service = acting.service AND r.parent IS NULL
    ORDER BY work.id
    FOR UPDATE OF work
), completed AS (
    UPDATE work
    SET state = {done}, version = work.version + 1, started = 0, last_holder = work.holder, holder = NULL, run_until = NULL,
        abandoned = 0, cancelling = 0
    FROM held
    WHERE work.id = held.id AND work.state IN {sources:complete} AND work.holder IS NOT DISTINCT FROM held.worker
    RETURNING work.id, work.lane, work.version, held.ordinal, held.worker, held.topic, held.result, held.key, held.body
), logged AS (
    INSERT INTO event (work, version, move, state, worker, at)
    SELECT completed.id, completed.version, {complete}, {done}, completed.worker, moment.now FROM completed CROSS JOIN moment
), answered AS (
    INSERT INTO result (work, answer, result, worker, key, body, at)
    SELECT completed.id, {success}, completed.result, completed.worker, completed.key, completed.body, moment.now
    FROM completed CROSS JOIN moment
    ON CONFLICT (work) DO UPDATE SET answer = excluded.answer, result = excluded.result, error_text = NULL,
        worker = excluded.worker, key = excluded.key, body = excluded.body, at = excluded.at
), withdrawn AS (
    DELETE FROM offer WHERE offer.work = ANY (ARRAY(SELECT completed.id FROM completed))
), counted AS (
    INSERT INTO tally (lane, state, n)
    SELECT sums.lane, change.state, change.sign * sums.n
    FROM (SELECT lane, count(*) AS n FROM completed GROUP BY lane) AS sums
    CROSS JOIN (VALUES ({held}, -1), ({done}, 1)) AS change (state, sign)
), rung AS MATERIALIZED (
    SELECT json_object_agg(completed.topic, 1) AS topics FROM completed
), told AS MATERIALIZED (
    SELECT CASE WHEN topics IS NOT NULL THEN pg_notify({rings_channel}, (
        SELECT CASE WHEN octet_length(whole) <= {announcement_bytes} THEN whole
            ELSE CAST(json_build_object('origin', CAST(:origin AS text), 'rings', json_build_object({everything}, 1)) AS text) END
        FROM (SELECT CAST(json_build_object('origin', CAST(:origin AS text), 'rings', topics) AS text) AS whole) AS payload
    )) END AS sent
    FROM rung
)
SELECT completed.ordinal, completed.id, told.sent FROM completed CROSS JOIN told
