-- Remove a lane, so that nothing is taken from it any more.
DELETE FROM lane WHERE id = :lane
