-- The database's clock, in milliseconds.
SELECT clock_ms()
