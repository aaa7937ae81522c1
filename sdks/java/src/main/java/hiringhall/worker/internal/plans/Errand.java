package hiringhall.worker.internal.plans;

import hiringhall.worker.RefusedException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Backoff;
import hiringhall.worker.internal.Envelope;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;

/**
 * One request until it is settled: send {@link #request}, give what came back to {@link #receive}, and do what the
 * returned step says. Random numbers and fresh keys come from outside.
 */
abstract class Errand {
    /** A claim brought a task. */
    record Got(Hold hold) implements Step {}

    /** A claim brought nothing; claim again at once. */
    record Empty() implements Step {}

    final Session session;
    final Identity identity;
    final Verb verb;
    private int attempts;

    Errand(Session session, Identity identity, Verb verb) {
        this.session = session;
        this.identity = identity;
        this.verb = verb;
    }

    abstract Request request();

    abstract Step judge(Verdict found, Answer answer, double dice);

    /** Say what to do after a reply. {@code dice} is a random number of [0, 1). */
    Step receive(Reply reply, double dice) {
        attempts++;
        if (reply instanceof Lost lost) {
            return again(lost.why(), dice, null);
        }
        Answer answer = (Answer) reply;
        if (identity != null) {
            session.hear(identity, answer);
        }
        Verdict found = Verdict.of(verb, answer.status());
        if (found == Verdict.AGAIN) {
            return again(Envelope.explain(answer), dice, answer);
        }
        if (found == Verdict.UNAUTHORIZED || found == Verdict.REFUSED) {
            return crash(found, answer);
        }
        return judge(found, answer, dice);
    }

    Step again(String why, double dice, Answer answer) {
        return new Step.Again(waitSeconds(dice, answer), why);
    }

    final double waitSeconds(double dice, Answer answer) {
        return Backoff.waitSeconds(attempts, dice, answer);
    }

    private Step crash(Verdict found, Answer answer) {
        String told = Envelope.explain(answer);
        if (stale()) {
            return new Step.Skipped(told + " (this worker has registered anew since)", false);
        }
        if (found == Verdict.UNAUTHORIZED) {
            return new Step.Crash(new UnauthorizedException(verb.word() + ": " + told + "; " + advice()));
        }
        boolean malformed = answer.status() == 400 || answer.status() == 422;
        String hint = malformed ? "" : "; is the address of the server right?";
        return new Step.Crash(
                new RefusedException(verb.word() + ": " + told + hint, answer.status(), Envelope.code(answer)));
    }

    private String advice() {
        if (verb == Verb.REGISTER) {
            return "check the bootstrap token (bootstrapToken or HALL_BOOTSTRAP_TOKEN)";
        }
        if (session.terms.token() != null) {
            return "check the worker token (token or HALL_WORKER_TOKEN)";
        }
        return "the token minted for this worker is no longer accepted; start it again to register anew";
    }

    /** Whether the worker has registered anew since this errand began. */
    final boolean stale() {
        return identity != null && !identity.equals(session.identity);
    }
}
