-- Note that the number of units in a state changed by n.
INSERT INTO tally (lane, state, n) VALUES (:lane, :state, :n)
