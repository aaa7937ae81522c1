-- Logins by id: whether each stands, and what a client may call.
SELECT s.sid, s.role, s.subject, s.service, s.incarnation,
    s.ended_at IS NULL AND s.expires_at > :now AND k.id IS NOT NULL AND (k.valid_until IS NULL OR k.valid_until > :now),
    c.allow
FROM session AS s
LEFT JOIN secret AS k ON k.id = s.secret
LEFT JOIN client AS c ON s.service IS NULL AND c.id = s.subject
WHERE s.sid {any:sids text}
