-- A service worker has started.
INSERT INTO service_worker (
    worker, service, worker_id, run_mode, capabilities, incarnation, leaving, ip, port, source, forwarded, version, trace
)
VALUES (
    :worker, :service, :worker_id, :run_mode, :capabilities, :incarnation, 0, :ip, :port, :source, :forwarded, :version, :trace
)
ON CONFLICT (worker) DO UPDATE SET run_mode = excluded.run_mode, capabilities = excluded.capabilities,
    incarnation = excluded.incarnation, leaving = 0, ip = excluded.ip, port = excluded.port, source = excluded.source,
    forwarded = excluded.forwarded, version = excluded.version, trace = excluded.trace
