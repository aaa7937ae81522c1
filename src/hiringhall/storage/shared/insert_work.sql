-- Make a unit of work.
INSERT INTO work (id, lane, state, priority, seq, waiting_on)
VALUES (:id, :lane, :state, :priority, :seq, :waiting_on)
