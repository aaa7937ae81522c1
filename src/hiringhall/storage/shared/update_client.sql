-- Change a client; what is not said stays as it is.
UPDATE client SET allow = coalesce(CAST(:allow AS text), allow) WHERE id = :client
RETURNING id
