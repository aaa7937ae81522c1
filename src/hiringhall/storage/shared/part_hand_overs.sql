-- The unit of these hand-overs is gone; they are kept for a while.
UPDATE hand_over SET gone_at = :now WHERE work = :work AND gone_at IS NULL
