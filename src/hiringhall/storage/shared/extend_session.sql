-- Have a login that stands last longer.
UPDATE session SET expires_at = :expires_at
WHERE sid = :sid AND role = :role AND ended_at IS NULL AND expires_at > :now
    AND EXISTS (SELECT 1 FROM secret AS k WHERE k.id = session.secret AND (k.valid_until IS NULL OR k.valid_until > :now))
RETURNING sid, subject, service
