-- Complete units, each by the worker that was handed exactly this version and holds it still. What does not match is not touched.
-- Rows are locked in ascending order; dependents come after what they depend on. An edge is honoured by whoever deletes it.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), held AS MATERIALIZED (
    SELECT asked.ordinal, asked.worker, asked.version, asked.key, asked.body, plan.id AS plan, work.id
    FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[]),
        CAST(:lane_key AS text[]), CAST(:key AS bytea[]), CAST(:body AS bytea[])
    ) AS asked (ordinal, worker, task_id, version, lane_key, key, body)
    JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.name = asked.task_id
        AND hand_over.version = asked.version
        AND (asked.lane_key IS NULL OR asked.lane_key = hand_over.lane_key)
    JOIN work ON work.id = hand_over.work AND work.state IN {sources:complete}
        AND work.holder IS NOT DISTINCT FROM asked.worker  -- an equation would tempt the planner to the index of holders
        AND asked.version IN (work.handed_version, work.version) AND work.waiting_on = 0
    JOIN plan ON plan.lane = work.lane
    ORDER BY work.id
    FOR UPDATE OF work
), completed AS (
    UPDATE work
    SET state = {done}, version = work.version + 1, started = 0, last_holder = work.holder, holder = NULL, run_until = NULL,
        abandoned = 0
    FROM held
    WHERE work.id = held.id AND work.state IN {sources:complete} AND work.holder IS NOT DISTINCT FROM held.worker
    RETURNING work.id, work.lane, work.version, work.priority, held.ordinal, held.plan, held.worker, held.version AS handed_version,
        held.key, held.body
), logged AS (
    INSERT INTO event (work, version, move, state, worker, at)
    SELECT completed.id, completed.version, 'complete', {done}, completed.worker, moment.now FROM completed CROSS JOIN moment
), answered AS (
    INSERT INTO answer (work, worker, version, key, body)
    SELECT id, worker, handed_version, key, body FROM completed WHERE key IS NOT NULL
    ON CONFLICT DO NOTHING
), closed AS (
    DELETE FROM unmet USING completed WHERE unmet.dependency = completed.id
    RETURNING unmet.dependent
), dependents AS MATERIALIZED (
    SELECT work.id, sums.n
    FROM (SELECT dependent, count(*) AS n FROM closed GROUP BY dependent) AS sums
    JOIN work ON work.id = sums.dependent
    ORDER BY work.id
    FOR UPDATE OF work
), lowered AS (
    UPDATE work
    SET waiting_on = work.waiting_on - dependents.n,
        state = CASE WHEN work.waiting_on = dependents.n AND work.state IN {sources:unblock} THEN {ready} ELSE work.state END
    FROM dependents
    WHERE work.id = dependents.id
    RETURNING work.lane, work.state
), readied AS MATERIALIZED (
    SELECT lane, count(*) AS n FROM lowered WHERE state = {ready} GROUP BY lane
), counted AS (
    INSERT INTO tally (lane, state, n)
    SELECT sums.lane, change.state, change.sign * sums.n
    FROM (SELECT lane, count(*) AS n FROM completed GROUP BY lane) AS sums
    CROSS JOIN (VALUES ({held}, -1), ({done}, 1)) AS change (state, sign)
    UNION ALL
    SELECT readied.lane, change.state, change.sign * readied.n
    FROM readied CROSS JOIN (VALUES ({waiting}, -1), ({ready}, 1)) AS change (state, sign)
), rung AS MATERIALIZED (
    SELECT json_object_agg(lane.key, readied.n) AS lanes FROM readied JOIN lane ON lane.id = readied.lane
), told AS MATERIALIZED (
    SELECT CAST(lanes AS text) AS lanes, CASE WHEN lanes IS NOT NULL THEN pg_notify({rings_channel}, (
        SELECT CASE WHEN octet_length(whole) <= {announcement_bytes} THEN whole
            ELSE CAST(json_build_object('origin', CAST(:origin AS text), 'rings', json_build_object({everything}, 1)) AS text) END
        FROM (SELECT CAST(json_build_object('origin', CAST(:origin AS text), 'lanes', lanes) AS text) AS whole) AS payload
    )) END AS sent
    FROM rung
)
SELECT completed.ordinal, completed.id, completed.plan, completed.version, completed.priority, task.detail, told.lanes
FROM completed
JOIN task ON task.work = completed.id
CROSS JOIN told
