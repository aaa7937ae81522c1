-- Nobody may be given the calls of a lane any more.
DELETE FROM fit WHERE lane = :lane
