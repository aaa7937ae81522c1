-- What is known of some service workers.
SELECT worker, service, worker_id, run_mode, capabilities, incarnation, leaving, ip, port, version, trace
FROM service_worker WHERE worker {any:workers text}
