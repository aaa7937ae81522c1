-- Store an item of feedback.
INSERT INTO feedback (work, number, st, sn, ft, pr, fc, worker, at)
VALUES (:work, :number, :st, :sn, :ft, :pr, :fc, :worker, :at)
