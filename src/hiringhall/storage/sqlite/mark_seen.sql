-- Write down in one statement when workers were last heard; whoever is heard is online.
UPDATE pulse SET last_seen = max(last_seen, :now - sign.age), offline = 0
FROM (SELECT value ->> 0 AS worker, value ->> 1 AS age FROM json_each(:signs)) AS sign
WHERE pulse.worker = sign.worker
