-- Differs: the clock is read in the statement.
-- All signing keys, the present one first, and how long the others have been retired.
SELECT kid, sealed, coalesce(CAST(:now AS bigint), clock_ms()) - retired_at FROM signing_key ORDER BY retired_at IS NOT NULL, retired_at DESC, kid
