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
SELECT stored.changed, stored.lane, stored.name, stored.tasks, stored.last_seq, t.task_id, t.work, w.state, t.digest
FROM stored
LEFT JOIN (task AS t JOIN work AS w ON w.id = t.work) ON t.lane = stored.lane AND t.task_id {any:names text}
