-- Append to the audit log that units were completed just now.
INSERT INTO event (work, version, move, state, worker, at)
SELECT id, version, {complete}, state, last_holder, :now FROM work WHERE id {any:ids bigint}
