package hiringhall.worker.internal.services;

import java.util.Locale;

/** The requests of a service worker, and what remains of 3xx and 4xx for each. */
public enum Verb {
    // Without a registration or a drain a worker is of no use; a heartbeat keeps ticking.
    REGISTER(Verdict.REFUSED),
    DRAIN(Verdict.REFUSED),
    LOCK(Verdict.SKIP),
    RESPONSE(Verdict.SKIP),
    FEEDBACK(Verdict.SKIP),
    HEARTBEAT(Verdict.AGAIN),
    GOODBYE(Verdict.SKIP);

    final Verdict otherwise;

    Verb(Verdict otherwise) {
        this.otherwise = otherwise;
    }

    /** As it stands in logs. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
