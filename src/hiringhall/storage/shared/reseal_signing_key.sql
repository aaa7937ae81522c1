-- Store a signing key sealed with another key.
UPDATE signing_key SET sealed = :sealed WHERE kid = :kid AND sealed = :before
