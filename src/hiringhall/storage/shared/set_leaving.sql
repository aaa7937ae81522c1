-- A service worker takes nothing new.
UPDATE service_worker SET leaving = 1 WHERE worker = :worker
