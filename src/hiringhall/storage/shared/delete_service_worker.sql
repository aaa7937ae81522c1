-- Forget a service worker.
DELETE FROM service_worker WHERE worker = :worker
RETURNING service, worker_id
