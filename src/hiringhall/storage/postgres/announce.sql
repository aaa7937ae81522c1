-- Tell the other replicas of rings once the transaction is durable.
SELECT pg_notify({rings_channel}, :payload)
