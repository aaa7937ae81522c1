-- How many units of some lanes are where.
SELECT lane, state, sum(n) FROM tally WHERE lane {any:lanes bigint} GROUP BY lane, state
