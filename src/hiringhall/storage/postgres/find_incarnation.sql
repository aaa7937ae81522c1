-- Differs: nobody acts for the worker until the transaction ends.
-- The present incarnation of a service worker.
SELECT incarnation FROM service_worker WHERE worker = :worker FOR UPDATE
