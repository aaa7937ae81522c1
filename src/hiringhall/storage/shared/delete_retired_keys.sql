-- Forget signing keys that were retired long ago.
DELETE FROM signing_key WHERE retired_at < :before
RETURNING kid
