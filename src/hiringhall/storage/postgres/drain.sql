-- Hand one worker its share of what is ready in the lanes that it fits: one row for each unit, or one without.
-- Nothing is done for a worker that does not stand as it says, may be given nothing, says how many calls it works on at a time,
-- or has to be told something; nor if something is ready for it that has to be offered. The first two columns tell so.
WITH moment AS MATERIALIZED (
    SELECT coalesce(CAST(:now AS bigint), clock_ms()) AS now
), standing AS MATERIALIZED (  -- no new incarnation is let in before this is done
    SELECT sw.worker
    FROM service_worker AS sw
    JOIN worker AS w ON w.key = sw.worker
    JOIN pulse AS p ON p.worker = sw.worker
    JOIN session AS s ON s.sid = :session AND s.ended_at IS NULL AND s.role = 'worker' AND s.service = sw.service
        AND s.subject = sw.worker_id AND (s.incarnation IS NULL OR s.incarnation = sw.incarnation)
    WHERE sw.worker = :worker AND sw.leaving = 0 AND w.quiet = 0 AND w.terminate = 0 AND p.offline = 0
        AND strpos(sw.capabilities, '"concurrency"') = 0
        AND (SELECT count(*) FROM directive WHERE directive.worker = sw.worker) = 0
    FOR KEY SHARE OF sw
), fitting AS MATERIALIZED (
    SELECT lane.id, lane.key, lane.dispatch, (
        SELECT count(*)
        FROM (SELECT 1 FROM work WHERE work.lane = lane.id AND work.state = {ready} LIMIT :counted_max) AS some_ready
    ) AS ready
    FROM standing
    JOIN fit ON fit.worker = standing.worker
    CROSS JOIN LATERAL (SELECT * FROM lane WHERE lane.id = fit.lane AND lane.paused = 0 OFFSET 0) AS lane
), busy AS MATERIALIZED (
    SELECT * FROM fitting WHERE fitting.ready > 0
), weighed AS MATERIALIZED (
    SELECT busy.id, busy.key, busy.ready, CASE
        WHEN busy.dispatch IS NULL OR CAST(:limit AS bigint) = 1 OR (SELECT sum(busy.ready) FROM busy) <= 1 THEN 1
        ELSE greatest(1, (
            SELECT count(*)
            FROM fit CROSS JOIN LATERAL (
                SELECT sw.worker
                FROM service_worker AS sw
                JOIN worker AS w ON w.key = fit.worker AND w.quiet = 0 AND w.terminate = 0
                JOIN pulse AS p ON p.worker = fit.worker AND p.offline = 0
                WHERE sw.worker = fit.worker AND sw.leaving = 0
                OFFSET 0  -- looked up for each, never joined in bulk
            ) AS live
            WHERE fit.lane = busy.id
        )) END AS live
    FROM busy
), raced AS MATERIALIZED (
    SELECT count(*) AS n FROM busy WHERE busy.dispatch = {race}
), part AS MATERIALIZED (
    SELECT CAST(least(
        CAST(:limit AS bigint),
        greatest(1, ceil(sum(CAST(weighed.ready AS double precision) / weighed.live) - CAST(:inexact AS double precision)))
    ) AS bigint) AS n
    FROM weighed
    HAVING count(*) > 0 AND (SELECT raced.n FROM raced) = 0
), head AS MATERIALIZED (
    SELECT found.*, weighed.key, row_number() OVER (ORDER BY found.priority, found.seq, found.id) AS place
    FROM part CROSS JOIN weighed CROSS JOIN LATERAL (
        SELECT work.id, work.priority, work.seq, work.cause
        FROM work
        WHERE work.lane = weighed.id AND work.state = {ready}
            AND (
                work.last_holder IS DISTINCT FROM CAST(:worker AS text)
                OR coalesce((SELECT avoid_until FROM request WHERE request.work = work.id), 0) <= (SELECT now FROM moment)
            )
        ORDER BY work.priority, work.seq, work.id
        LIMIT part.n
        FOR UPDATE SKIP LOCKED
    ) AS found
), sized AS MATERIALIZED (
    SELECT head.*, r.request_id, r.method, r.traceparent, r.policy, y.work AS payload,
        sum(octet_length(y.params)) OVER (ORDER BY head.place) AS bytes
    FROM part JOIN head ON head.place <= part.n
    CROSS JOIN LATERAL (SELECT * FROM request WHERE request.work = head.id OFFSET 0) AS r
    CROSS JOIN LATERAL (SELECT * FROM payload WHERE payload.work = coalesce(r.parent, r.work) OFFSET 0) AS y
), given AS MATERIALIZED (
    SELECT sized.*, moment.now,
        CASE WHEN CAST(:limited AS boolean) THEN moment.now + nullif(
            CASE WHEN sized.policy = '' THEN CAST(:run_limit_ms AS bigint)
            ELSE coalesce(CAST(CAST(sized.policy AS json) ->> 'run_limit_ms' AS bigint), CAST(:run_limit_ms AS bigint)) END, 0
        ) END AS run_until
    FROM sized CROSS JOIN moment
    WHERE sized.bytes <= :bytes_max OR sized.place = 1
    LIMIT 100  -- nobody is handed more, and so it is planned
), taken AS (
    UPDATE work
    SET state = {held}, version = work.version + 1, handed_version = work.version + 1, started = 0,
        holder = CAST(:worker AS text), handed_at = given.now, run_until = given.run_until
    FROM given
    WHERE work.id = given.id AND work.state IN {sources:hold}
    RETURNING work.id, work.lane, work.version, given.place, given.key, given.cause, given.now, given.request_id, given.method,
        given.traceparent, given.payload
), recorded AS (
    INSERT INTO hand_over (worker, name, version, work, lane_key, cause, at)
    SELECT CAST(:worker AS text), request_id, version, id, key, cause, now FROM taken
), counted AS (
    INSERT INTO tally (lane, state, n)
    SELECT sums.lane, change.state, change.sign * sums.n
    FROM (SELECT lane, count(*) AS n FROM taken GROUP BY lane) AS sums
    CROSS JOIN (VALUES ({ready}, -1), ({held}, 1)) AS change (state, sign)
), rest AS MATERIALIZED (
    SELECT count(*) AS n
    FROM busy
    WHERE (
        SELECT work.id FROM work
        WHERE work.lane = busy.id AND work.state = {ready} AND work.id NOT IN (SELECT taken.id FROM taken)
            AND (
                work.last_holder IS DISTINCT FROM CAST(:worker AS text)
                OR coalesce((SELECT avoid_until FROM request WHERE request.work = work.id), 0) <= (SELECT now FROM moment)
            )
        ORDER BY work.priority, work.seq, work.id
        LIMIT 1
    ) IS NOT NULL
)
SELECT (SELECT count(*) FROM standing), raced.n, rest.n > 0, taken.id, taken.request_id, taken.method, y.params, taken.version,
    taken.traceparent
FROM raced CROSS JOIN rest
LEFT JOIN taken ON true
LEFT JOIN LATERAL (SELECT * FROM payload WHERE payload.work = taken.payload OFFSET 0) AS y ON true
ORDER BY taken.place
