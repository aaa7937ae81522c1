-- Differs: the lanes and their services stay until the transaction ends; who is just deleting a service is waited for.
-- Lanes by key, of services that there are.
SELECT l.key, l.id
FROM lane AS l
CROSS JOIN LATERAL (SELECT id FROM service WHERE service.id = l.service FOR KEY SHARE) AS s
WHERE l.key {any:keys text}
ORDER BY l.key
FOR KEY SHARE OF l
