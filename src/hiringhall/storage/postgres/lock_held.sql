-- The tasks that workers were handed under exactly these versions and hold still, locked in ascending order. Others are left out.
SELECT asked.ordinal, asked.worker, asked.version, asked.key, asked.body, plan.id AS plan, work.id
FROM unnest(
    CAST(:ordinal AS bigint[]), CAST(:worker AS text[]), CAST(:task_id AS text[]), CAST(:version AS bigint[]),
    CAST(:lane_key AS text[]), CAST(:key AS bytea[]), CAST(:body AS bytea[])
) AS asked (ordinal, worker, task_id, version, lane_key, key, body)
JOIN hand_over ON hand_over.worker = asked.worker AND hand_over.name = asked.task_id
    AND hand_over.version = asked.version
    AND (asked.lane_key IS NULL OR asked.lane_key = hand_over.lane_key)
JOIN work ON work.id = hand_over.work AND work.state = {held}
    AND work.holder IS NOT DISTINCT FROM asked.worker  -- an equation would tempt the planner to the index of holders
    AND asked.version IN (work.handed_version, work.version) AND work.waiting_on = 0
JOIN plan ON plan.lane = work.lane
ORDER BY work.id
FOR UPDATE OF work
