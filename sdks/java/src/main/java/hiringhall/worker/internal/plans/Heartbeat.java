package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Wire;
import java.util.Map;

/** Say that the worker lives, and what it holds. */
final class Heartbeat extends Errand {
    Heartbeat(Session session) {
        super(session, session.identity, Verb.HEARTBEAT);
    }

    @Override
    Request request() {
        return new Request(
                "heartbeat", "POST", "/workers/" + Wire.part(identity.workerId()) + "/heartbeat", identity.token(),
                Wire.body(Map.of("worker_id", identity.workerId())), session.terms.answerSeconds(),
                new Header("Hall-Holding", session.holding(identity)));
    }

    @Override
    Step judge(Verdict found, Answer answer, double dice) {
        session.hearInterval(answer);
        if (Boolean.FALSE.equals(answer.members().get("ok"))) {
            return new Step.Unregistered(session.terms.bootstrapToken() != null);
        }
        return Step.DONE;
    }

    @Override
    Step again(String why, double dice, Answer answer) {
        double wait = waitSeconds(dice, answer);
        boolean asked = answer != null && answer.header("retry-after") != null;
        return new Step.Again(asked ? wait : Math.min(wait, session.beatSeconds()), why);
    }
}
