-- The lanes of a service, but for its workers' own.
SELECT id, method, requires FROM lane WHERE service = :service AND method IS NOT NULL
