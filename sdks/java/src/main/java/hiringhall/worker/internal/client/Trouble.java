package hiringhall.worker.internal.client;

import hiringhall.worker.HallException;
import hiringhall.worker.RefusedException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Backoff;
import hiringhall.worker.internal.Envelope;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Reply;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;

/** Why an attempt brought nothing, and after how long another one is of use. */
public record Trouble(String why, double afterSeconds) {
    private static final Set<Integer> LATER = Set.of(408, 425, 429);
    private static final String NO_WORKER = "no_worker";

    /** What to say of an attempt that may be repeated; throws if no repetition mends it. */
    public static Trouble of(Reply reply, int attempts) {
        double dice = ThreadLocalRandom.current().nextDouble();
        if (reply instanceof Lost lost) {
            return new Trouble(lost.why(), Backoff.seconds(Math.max(1, attempts), dice));
        }
        Answer answer = (Answer) reply;
        if (answer.successful()) {
            return new Trouble("the answer was cut off", Backoff.seconds(Math.max(1, attempts), dice));
        }
        boolean later = LATER.contains(answer.status()) || answer.status() < 300 || answer.status() >= 500;
        if (later && !Envelope.code(answer).equals(NO_WORKER)) {
            return new Trouble(Envelope.explain(answer), Backoff.waitSeconds(Math.max(1, attempts), dice, answer));
        }
        throw refusal(answer);
    }

    private static HallException refusal(Answer answer) {
        if (answer.status() == 401 || answer.status() == 403) {
            return new UnauthorizedException(Envelope.explain(answer));
        }
        String code = Envelope.code(answer);
        return new RefusedException(Envelope.explain(answer), answer.status(), code.isEmpty() ? null : code);
    }
}
