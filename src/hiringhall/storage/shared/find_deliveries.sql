-- How often the answers of some hand-overs were sent.
SELECT work, worker, version, deliveries FROM hand_over WHERE work {any:ids bigint}
