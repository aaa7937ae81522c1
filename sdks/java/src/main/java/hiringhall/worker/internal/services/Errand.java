package hiringhall.worker.internal.services;

import hiringhall.worker.HallException;
import hiringhall.worker.RefusedException;
import hiringhall.worker.SupersededException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Backoff;
import hiringhall.worker.internal.Envelope;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import java.util.EnumSet;
import java.util.Set;

/**
 * One request until it is settled: send {@link #request}, give what came back to {@link #receive}, and do what the
 * returned step says. Random numbers and fresh keys come from outside.
 */
abstract class Errand {
    // A token that is refused a third time in a row, after a refresh and a login, is refused for good.
    private static final int REFUSALS = 2;
    private static final Set<Verdict> CRASHES =
            EnumSet.of(Verdict.RENEW, Verdict.SUPERSEDED, Verdict.UNAUTHORIZED, Verdict.REFUSED);
    static final byte[] NO_BODY = {};

    final Session session;
    final Verb verb;
    int attempts;
    private int refusals;

    Errand(Session session, Verb verb) {
        this.session = session;
        this.verb = verb;
    }

    abstract Request request(String token);

    /** Say what to do after a reply. {@code dice} is a random number of [0, 1). */
    final Step receive(Reply reply, double dice) {
        attempts++;
        if (reply instanceof Lost lost) {
            return again(lost.why(), dice, null);
        }
        Answer answer = (Answer) reply;
        session.hear(answer);
        Verdict found = Verdict.of(verb, answer.status(), answer.successful() ? "" : Envelope.code(answer));
        if (found == Verdict.RENEW && refusals < REFUSALS) {
            refusals++;
            return new Step.Renew(refusals == REFUSALS);
        }
        if (CRASHES.contains(found)) {
            return new Step.Crash(crash(found, answer));
        }
        if (found == Verdict.AGAIN) {
            return again(Envelope.explain(answer), dice, answer);
        }
        refusals = 0;
        return judge(found, answer, dice);
    }

    Step judge(Verdict found, Answer answer, double dice) {
        return found == Verdict.ACCEPTED ? Step.DONE : new Step.Skipped(Envelope.explain(answer), false);
    }

    Step again(String why, double dice, Answer answer) {
        return new Step.Again(Backoff.waitSeconds(attempts, dice, answer), why);
    }

    private HallException crash(Verdict found, Answer answer) {
        String told = verb.word() + ": " + Envelope.explain(answer);
        if (found == Verdict.SUPERSEDED) {
            String name = session.terms.service() + "/" + session.terms.workerId();
            return new SupersededException(
                    told + "; another process has registered as " + name + ": give each its own workerId");
        }
        if (found == Verdict.REFUSED) {
            boolean malformed = answer.status() == 400 || answer.status() == 422;
            String hint = malformed ? "" : "; is the address of the server right?";
            return new RefusedException(told + hint, answer.status(), Envelope.code(answer));
        }
        return new UnauthorizedException(
                told + "; check the secret and whether the service is still allowed this worker");
    }
}
