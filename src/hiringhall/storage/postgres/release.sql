-- Give tasks back that wait for nothing, each by the worker that was handed exactly this version and holds it still. What does
-- not match is not touched.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), held AS MATERIALIZED (
    {statement:lock_held}
), said AS MATERIALIZED (
    SELECT * FROM unnest(CAST(:ordinal AS bigint[]), CAST(:cause AS text[]), CAST(:reason AS text[])) AS word (ordinal, cause, reason)
), released AS (
    UPDATE work
    SET state = {ready}, version = work.version + 1, started = 0, last_holder = work.holder, holder = NULL, run_until = NULL,
        cause = said.cause
    FROM held JOIN said ON said.ordinal = held.ordinal
    WHERE work.id = held.id AND work.state IN {sources:release} AND work.holder IS NOT DISTINCT FROM held.worker
    RETURNING work.id, work.lane, work.version, work.priority, held.ordinal, held.plan, held.worker, held.version AS handed_version,
        held.key, held.body, said.cause, said.reason
), logged AS (
    INSERT INTO event (work, version, move, state, worker, cause, reason, at)
    SELECT released.id, released.version, {release}, {ready}, released.worker, released.cause, released.reason, moment.now
    FROM released CROSS JOIN moment
), answered AS (
    INSERT INTO answer (work, worker, version, key, body)
    SELECT id, worker, handed_version, key, body FROM released WHERE key IS NOT NULL
    ON CONFLICT DO NOTHING
), readied AS MATERIALIZED (
    SELECT lane, count(*) AS n FROM released GROUP BY lane
), counted AS (
    INSERT INTO tally (lane, state, n)
    SELECT readied.lane, change.state, change.sign * readied.n
    FROM readied CROSS JOIN (VALUES ({held}, -1), ({ready}, 1)) AS change (state, sign)
), told AS MATERIALIZED (
    {statement:announce_readied}
)
SELECT released.ordinal, released.id, released.plan, released.version, released.priority, task.detail, told.lanes
FROM released
JOIN task ON task.work = released.id
CROSS JOIN told
