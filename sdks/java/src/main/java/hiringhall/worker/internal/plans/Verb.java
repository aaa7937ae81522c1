package hiringhall.worker.internal.plans;

import java.util.Locale;

/** The requests of a plan worker, and what remains of 3xx and 4xx for each. */
public enum Verb {
    // Without a registration or a claim a worker is of no use; a heartbeat keeps ticking.
    REGISTER(Verdict.REFUSED),
    HEARTBEAT(Verdict.AGAIN),
    CLAIM(Verdict.REFUSED),
    COMPLETE(Verdict.SKIP),
    FAIL(Verdict.SKIP),
    RELEASE(Verdict.SKIP);

    final Verdict otherwise;

    Verb(Verdict otherwise) {
        this.otherwise = otherwise;
    }

    /** As it stands in paths and in logs. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
