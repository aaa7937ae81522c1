package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Wire;
import java.util.Map;

/** Ask for a worker id and a token. */
final class Register extends Errand {
    Register(Session session) {
        super(session, null, Verb.REGISTER);
    }

    @Override
    Request request() {
        Terms terms = session.terms;
        byte[] body = Wire.body(Map.of("hostname", terms.hostname()));
        // A lost answer leaves a worker behind that nobody is; so this is not repeated without a pause.
        return new Request(
                        "register", "POST", "/workers/register", terms.bootstrapToken(), body, terms.answerSeconds())
                .onceOnly();
    }

    @Override
    Step judge(Verdict found, Answer answer, double dice) {
        Map<String, Object> members = answer.members();
        Object token = session.terms.token() == null ? members.get("token") : session.terms.token();
        if (!(members.get("worker_id") instanceof String workerId && !workerId.isEmpty()
                && token instanceof String text && Wire.sendable(text))) {
            return again("the answer names no worker_id and token", dice, null);
        }
        session.identity = new Identity(workerId, text);
        session.quiet = false;
        session.introduced = true;
        session.hearInterval(answer);
        return Step.DONE;
    }
}
