-- Complete units, each by the worker that was handed exactly this version and holds it still. What does not match is not touched.
-- Rows are locked in ascending order; dependents come after what they depend on. An edge is honoured by whoever deletes it.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), held AS MATERIALIZED (
    {statement:lock_held}
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
    SELECT completed.id, completed.version, {complete}, {done}, completed.worker, moment.now FROM completed CROSS JOIN moment
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
), told AS MATERIALIZED (
    {statement:announce_readied}
)
SELECT completed.ordinal, completed.id, completed.plan, completed.version, completed.priority, task.detail, told.lanes
FROM completed
JOIN task ON task.work = completed.id
CROSS JOIN told
