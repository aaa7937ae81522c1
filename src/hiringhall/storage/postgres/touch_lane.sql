-- Take a lane for oneself, unless somebody did since it was looked at.
UPDATE lane SET key = lane.key
WHERE lane.id = :lane AND CAST(CAST(lane.xmin AS text) AS bigint) = :stamp
RETURNING lane.id
