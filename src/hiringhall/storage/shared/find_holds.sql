-- What some workers hold, by index.
SELECT id, holder FROM work WHERE holder {any:workers text} ORDER BY id
