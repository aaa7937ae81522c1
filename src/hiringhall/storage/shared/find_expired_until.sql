-- Up to when deadlines have been seen to.
SELECT expired_until FROM hall WHERE only_row = 1
