-- Append a line to the audit log.
INSERT INTO event (work, version, move, state, worker, cause, reason, at)
VALUES (:work, :version, :move, :state, :worker, :cause, :reason, :at)
