-- All signing keys, the present one first, and how long the others have been retired.
SELECT kid, sealed, :now - retired_at FROM signing_key ORDER BY retired_at IS NOT NULL, retired_at DESC, kid
