-- Which of these workers may be given something, and whether each was told to stop some unit.
SELECT w.key, EXISTS (SELECT 1 FROM directive AS d WHERE d.worker = w.key)
FROM worker AS w
WHERE w.key {any:workers text} AND w.quiet = 0 AND w.terminate = 0
