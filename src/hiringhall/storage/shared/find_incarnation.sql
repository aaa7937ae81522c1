-- The present incarnation of a service worker.
SELECT incarnation FROM service_worker WHERE worker = :worker
