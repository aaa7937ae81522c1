package hiringhall.worker.internal.client;

import hiringhall.worker.UnreachableException;
import hiringhall.worker.internal.Threads;
import java.util.Locale;

/** How long it has not worked, and how long that is borne. */
public final class Persistence {
    private static final double NEVER = -1;

    private final double patienceSeconds;
    private double since = NEVER;

    Persistence(double patienceSeconds) {
        this.patienceSeconds = patienceSeconds;
    }

    public void worked() {
        since = NEVER;
    }

    /** Wait before the next attempt; UnreachableException if that would take longer than the patience. */
    public void await(Trouble trouble) {
        double now = System.nanoTime() / 1e9;
        if (since == NEVER) {
            since = now;
        }
        if (now + trouble.afterSeconds() > since + patienceSeconds) {
            throw new UnreachableException(String.format(Locale.ROOT, "%s (tried for %.0f s)", trouble.why(), now - since));
        }
        Threads.pause(trouble.afterSeconds());
    }
}
