-- Give a staged lane its name.
UPDATE lane SET key = :key WHERE id = :lane
