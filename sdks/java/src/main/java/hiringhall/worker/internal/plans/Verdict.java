package hiringhall.worker.internal.plans;

import java.util.Set;

/** The retry policy of a plan worker as one table: what a status means for the request that it answers. */
public enum Verdict {
    ACCEPTED,
    /** Nothing to do right now. */
    EMPTY,
    /** Repeat after a back-off. */
    AGAIN,
    /** Log it and go on. */
    SKIP,
    /** Repeat with a shorter reason. */
    SHORTEN,
    /** Crash: the token is not accepted. */
    UNAUTHORIZED,
    /** Crash: no repetition mends this. */
    REFUSED;

    private static final Set<Integer> LATER = Set.of(408, 425, 429);

    /** Look up what a status means for a verb. */
    public static Verdict of(Verb verb, int status) {
        if (verb == Verb.CLAIM && status == 204) {
            return EMPTY;
        }
        if (verb == Verb.FAIL && status == 413) {
            return SHORTEN;
        }
        if (status == 401 || status == 403) {
            return UNAUTHORIZED;
        }
        if (status >= 200 && status < 300) {
            return ACCEPTED;
        }
        return LATER.contains(status) || status >= 500 || status < 200 ? AGAIN : verb.otherwise;
    }
}
