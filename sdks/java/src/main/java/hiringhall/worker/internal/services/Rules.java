package hiringhall.worker.internal.services;

/** How a run goes: its width, and its patience at the end (infinite: until everything is answered). */
public record Rules(int concurrency, double graceSeconds) {}
