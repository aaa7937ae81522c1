-- Differs: it may have to wait for the lane, and then sees what was stored before it waited.
-- What is stored of a plan that no other file of it may change now: whether that may be outdated, its lane, its name, its
-- number of tasks up to a limit, their last place, and each task among these names; one row without a task if there is none.
WITH seen AS MATERIALIZED (
    SELECT lane.id, lane.ctid AS place FROM lane WHERE lane.key = :key
), locked AS MATERIALIZED (
    SELECT lane.id, lane.ctid <> seen.place AS changed
    FROM seen JOIN lane ON lane.id = seen.id
    FOR UPDATE OF lane
), touched AS (
    UPDATE lane SET key = lane.key FROM locked WHERE lane.id = locked.id  -- by its new place others know that they waited
), stored AS MATERIALIZED (
    SELECT locked.changed, p.lane, p.name,
        (SELECT count(*) FROM (SELECT 1 FROM task WHERE task.lane = p.lane LIMIT :counted_max) AS first_ones) AS tasks,
        (SELECT coalesce(max(task.seq), -1) FROM task WHERE task.lane = p.lane) AS last_seq
    FROM locked JOIN plan AS p ON p.lane = locked.id
)
SELECT stored.changed, stored.lane, stored.name, stored.tasks, stored.last_seq, named.task_id, named.work, named.state,
    named.digest
FROM stored
LEFT JOIN LATERAL (
    SELECT t.task_id, t.work, w.state, t.digest
    FROM unnest(CAST(:names AS text[])) AS asked (task_id)
    CROSS JOIN LATERAL (  -- looked up for each, never joined in bulk
        SELECT * FROM task WHERE task.lane = stored.lane AND task.task_id = asked.task_id OFFSET 0
    ) AS t
    CROSS JOIN LATERAL (SELECT * FROM work WHERE work.id = t.work OFFSET 0) AS w
) AS named ON true
