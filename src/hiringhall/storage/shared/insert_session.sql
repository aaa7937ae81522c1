-- Log in, unless the secret has ended meanwhile.
INSERT INTO session (sid, role, subject, service, secret, made_at, expires_at)
SELECT CAST(:sid AS text), CAST(:role AS text), CAST(:subject AS text), CAST(:service AS text), k.id, :now, :expires_at
FROM secret AS k WHERE k.id = :secret AND (k.valid_until IS NULL OR k.valid_until > :now)
RETURNING sid
