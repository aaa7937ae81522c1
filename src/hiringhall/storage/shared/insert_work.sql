-- Make a unit of work.
INSERT INTO work (id, lane, state, priority, seq, waiting_on, version)
VALUES (:id, :lane, :state, :priority, :seq, :waiting_on, 1)
