-- The versions above the unit's own under which a worker was handed a unit of this name: rarely any, so no maximum is sought.
SELECT CAST(:ordinal AS integer), version
FROM hand_over
WHERE worker = :worker AND name = :name AND version > :version
