-- Nothing of this lane is left.
DELETE FROM doomed WHERE lane = :lane
