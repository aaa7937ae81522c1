package hiringhall.worker.internal;

import hiringhall.worker.HallException;

/** What to do after a reply: the outcome of an errand. */
public interface Step {
    /** The hall accepted it. */
    Step DONE = new Done();

    /** The hall accepted it. */
    record Done() implements Step {}

    /** Wait so many seconds, then send the errand's request again. */
    record Again(double afterSeconds, String why) implements Step {}

    /** The hall refused this one thing, for a reason that is no fault of the worker; log it and go on. */
    record Skipped(String why, boolean expected) implements Step {}

    /** End the run with this error. */
    record Crash(HallException error) implements Step {}

    /** The hall does not know this worker; register, if that is possible. */
    record Unregistered(boolean canRegister) implements Step {}

    /** The token is refused: have a new one, by the secret if {@code logIn}, and send the request again. */
    record Renew(boolean logIn) implements Step {}
}
