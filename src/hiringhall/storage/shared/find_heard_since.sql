-- Since when the hall has been able to hear, and when it last found that it can.
SELECT heard_since, pulse_at FROM hall WHERE only_row = 1
