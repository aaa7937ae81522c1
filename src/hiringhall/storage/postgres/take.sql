-- Hand the next ready units over, to workers of which each asks for units of one lane: one row per unit that is wanted.
-- An ask whose key stands on a hand-over that still holds gets nothing here; it is told that it was answered before.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), slot AS MATERIALIZED (
    SELECT asked.ordinal, asked.worker, asked.limited, asked.key, asked.place, lane.id AS lane, lane.key AS lane_key,
        asked.key IS NOT NULL AND answered_before(asked.worker, asked.key) AS answered,
        EXISTS (SELECT FROM directive WHERE directive.worker = asked.worker) AS told
    FROM unnest(
        CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:lane AS text[]), CAST(:limited AS boolean[]),
        CAST(:key AS bytea[])
    ) WITH ORDINALITY AS asked (ordinal, worker, lane, limited, key, place)
    JOIN worker ON worker.key = asked.worker AND worker.quiet = 0 AND worker.terminate = 0
    LEFT JOIN lane ON lane.key = asked.lane AND lane.paused = 0
), hungry AS MATERIALIZED (
    SELECT slot.*, row_number() OVER (PARTITION BY slot.lane ORDER BY slot.place) AS turn
    FROM slot WHERE NOT slot.answered AND slot.lane IS NOT NULL
), demand AS MATERIALIZED (
    SELECT hungry.lane, hungry.lane_key, plan.id AS plan, plan.traceparent, count(*) AS wanted
    FROM hungry JOIN plan ON plan.lane = hungry.lane
    GROUP BY hungry.lane, hungry.lane_key, plan.id, plan.traceparent
), head AS MATERIALIZED (
    SELECT demand.lane, demand.lane_key, demand.plan, demand.traceparent, found.*,
        row_number() OVER (PARTITION BY demand.lane ORDER BY found.priority, found.seq, found.id) AS turn
    FROM demand CROSS JOIN LATERAL (
        SELECT work.id, work.version, work.priority, work.seq, work.cause
        FROM work WHERE work.lane = demand.lane AND work.state = {ready}
        ORDER BY work.priority, work.seq, work.id
        LIMIT demand.wanted
        FOR UPDATE SKIP LOCKED
    ) AS found
), given AS MATERIALIZED (
    SELECT hungry.place, hungry.worker, hungry.key, hungry.told, head.lane, head.lane_key, head.plan, head.traceparent, head.id,
        head.cause, moment.now, task.task_id, task.detail,
        greatest(
            head.version,
            (SELECT max(earlier.version) FROM hand_over AS earlier
             WHERE earlier.worker = hungry.worker AND earlier.name = task.task_id)
        ) + 1 AS version,
        CASE WHEN hungry.limited THEN moment.now + nullif(
            CASE WHEN task.policy = '' THEN CAST(:run_limit_ms AS bigint)
            ELSE coalesce(CAST(CAST(task.policy AS json) ->> 'run_limit_ms' AS bigint), CAST(:run_limit_ms AS bigint)) END, 0
        ) END AS run_until
    FROM head
    JOIN hungry ON hungry.lane = head.lane AND hungry.turn = head.turn
    JOIN task ON task.work = head.id
    CROSS JOIN moment
), taken AS (
    UPDATE work
    SET state = {held}, version = given.version, handed_version = given.version, started = 0, holder = given.worker,
        handed_at = given.now, run_until = given.run_until
    FROM given
    WHERE work.id = given.id AND work.state IN {sources:hold}
    RETURNING work.id, work.lane, work.version, work.priority, given.place, given.worker, given.key, given.told,
        given.lane_key, given.plan, given.traceparent, given.cause, given.now, given.task_id, given.detail
), recorded AS (
    INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at, key)
    SELECT worker, task_id, version, id, lane_key, cause, now, key FROM taken
), reassured AS (  -- what was said of an earlier hand-over must not be taken for this one
    DELETE FROM directive USING taken
    WHERE taken.told AND directive.worker = taken.worker
        AND directive.target = percent_encoded(taken.plan) || '/' || percent_encoded(taken.task_id)
), counted AS (
    INSERT INTO tally (lane, state, n)
    SELECT sums.lane, change.state, change.sign * sums.n
    FROM (SELECT lane, count(*) AS n FROM taken GROUP BY lane) AS sums
    CROSS JOIN (VALUES ({ready}, -1), ({held}, 1)) AS change (state, sign)
), rest AS MATERIALIZED (
    SELECT demand.lane, (
        SELECT work.id FROM work
        WHERE work.lane = demand.lane AND work.state = {ready} AND work.id NOT IN (SELECT taken.id FROM taken)
        ORDER BY work.priority, work.seq, work.id
        LIMIT 1
    ) IS NOT NULL AS more
    FROM demand
)
SELECT slot.ordinal, slot.answered, coalesce(rest.more, false), taken.id, taken.plan, taken.task_id, taken.version,
    taken.priority, taken.detail, taken.traceparent
FROM slot
LEFT JOIN taken ON taken.place = slot.place
LEFT JOIN rest ON rest.lane = slot.lane
ORDER BY slot.place
