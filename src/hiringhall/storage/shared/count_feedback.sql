-- Give numbers to new items of feedback on a call.
UPDATE request SET feedback_count = feedback_count + :n WHERE work = :work
RETURNING work, feedback_count
