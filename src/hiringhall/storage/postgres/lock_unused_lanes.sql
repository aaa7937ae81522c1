-- Differs: nobody can use them until the transaction ends. Those that somebody is just using are passed over.
-- Those of some lanes in which there is still no call.
WITH locked AS MATERIALIZED (
    SELECT l.id FROM lane AS l WHERE l.id {any:lanes bigint} ORDER BY l.id FOR UPDATE SKIP LOCKED
)
SELECT locked.id FROM locked
