-- Which of these workers may be given something.
SELECT key FROM worker WHERE key {any:workers text} AND quiet = 0 AND terminate = 0
