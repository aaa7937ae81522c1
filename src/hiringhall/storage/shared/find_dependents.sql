-- The units that depend directly on one, whether the edge is open or not.
SELECT dependent FROM edge WHERE dependency = :work ORDER BY dependent
