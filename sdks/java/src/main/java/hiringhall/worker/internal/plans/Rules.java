package hiringhall.worker.internal.plans;

/** How a run goes: its width, its patience at the end, and when it ends by itself. */
public record Rules(int concurrency, double graceSeconds, boolean once, boolean untilEmpty) {}
