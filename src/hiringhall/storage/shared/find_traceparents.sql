-- The trace context of the requests that applied some plans, by their lanes.
SELECT lane, traceparent FROM plan WHERE lane {any:lanes bigint} AND traceparent IS NOT NULL
