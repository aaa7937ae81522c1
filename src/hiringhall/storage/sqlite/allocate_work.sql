-- Numbers for new units; the row names the first of a block.
UPDATE hall SET next_work = next_work + :n WHERE only_row = 1
RETURNING next_work - :n
