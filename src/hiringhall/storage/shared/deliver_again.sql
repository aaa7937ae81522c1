-- A claim is repeated: count another delivery of what its worker got before, as far as it still holds it so.
UPDATE hand_over SET deliveries = deliveries + 1
WHERE key = :key AND worker = :worker
    AND EXISTS (
        SELECT 1 FROM work AS w
        WHERE w.id = hand_over.work AND w.holder = hand_over.worker AND w.handed_version = hand_over.version
            AND w.state = {held}
    )
RETURNING work, deliveries
