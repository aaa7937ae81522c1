-- Sign with a key no more.
UPDATE signing_key SET current = NULL, retired_at = :now WHERE kid = :kid AND current = 1
RETURNING kid
