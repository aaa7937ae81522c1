-- Store a setting sealed with another key.
UPDATE setting SET sealed = :sealed WHERE service = :service AND name = :name AND sealed = :before
