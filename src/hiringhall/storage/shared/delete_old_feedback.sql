-- Of very much feedback the oldest goes.
DELETE FROM feedback WHERE work = :work AND number <= :number
