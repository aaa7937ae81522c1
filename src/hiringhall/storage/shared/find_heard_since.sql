-- Since when the hall has been able to hear.
SELECT heard_since FROM hall WHERE only_row = 1
