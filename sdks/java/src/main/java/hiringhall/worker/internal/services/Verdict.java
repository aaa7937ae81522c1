package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Envelope;
import java.util.Set;

/** The retry policy of a service worker as one table: what a status means for the request that it answers. */
public enum Verdict {
    ACCEPTED,
    /** Repeat after a back-off. */
    AGAIN,
    /** Have a new token, then repeat. */
    RENEW,
    /** Log it and go on. */
    SKIP,
    /** Register, then go on. */
    UNREGISTERED,
    /** The hall cannot take this answer: send an error in its place. */
    REPLACE,
    /** Crash: another process has this worker's id. */
    SUPERSEDED,
    /** Crash: not allowed. */
    UNAUTHORIZED,
    /** Crash: no repetition mends this. */
    REFUSED;

    private static final Set<Integer> LATER = Set.of(408, 425, 429);
    private static final Set<Integer> MISFIT = Set.of(400, 413, 422);
    private static final Set<Verb> NEEDED = Set.of(Verb.REGISTER, Verb.DRAIN, Verb.HEARTBEAT);

    /** Look up what a status, with the hall's error code, means for a verb. */
    public static Verdict of(Verb verb, int status, String code) {
        if (status == 409 && code.equals(Envelope.SUPERSEDED)) {
            return SUPERSEDED;
        }
        if (verb == Verb.DRAIN && (status == 404 || status == 409) && code.equals(Envelope.NOT_REGISTERED)) {
            return UNREGISTERED;
        }
        if (status == 403 && NEEDED.contains(verb)) {
            return UNAUTHORIZED;
        }
        if (verb == Verb.RESPONSE && MISFIT.contains(status)) {
            return REPLACE;
        }
        if (status == 401) {
            return RENEW;
        }
        if (status >= 200 && status < 300) {
            return ACCEPTED;
        }
        boolean later = LATER.contains(status) || (verb == Verb.DRAIN && status == 409);
        return later || status >= 500 || status < 200 ? AGAIN : verb.otherwise;
    }
}
