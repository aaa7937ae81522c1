package hiringhall.worker.internal;

/** What comes back for a request. */
public sealed interface Reply permits Answer, Lost {}
