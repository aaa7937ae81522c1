package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Wire;
import java.math.BigDecimal;
import java.util.LinkedHashMap;
import java.util.Map;

/** Ask for a task. Every attempt carries the same key, so that a lost answer is given again. */
final class Claim extends Errand {
    private final String key;

    Claim(Session session) {
        super(session, session.identity, Verb.CLAIM);
        key = session.newKey.get();
    }

    @Override
    Request request() {
        Terms terms = session.terms;
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("worker_id", identity.workerId());
        members.put("plan_id", terms.planId());
        members.put("wait", new BigDecimal(Wire.seconds(terms.holdSeconds())));
        return new Request(
                "claim", "POST", "/tasks/claim", identity.token(), Wire.body(members),
                terms.holdSeconds() + terms.answerSeconds(),
                new Header("Hall-Holding", session.holding(identity)), new Header("Idempotency-Key", key));
    }

    @Override
    Step judge(Verdict found, Answer answer, double dice) {
        session.introduced = true;
        if (found == Verdict.EMPTY) {
            return new Empty();
        }
        Hold hold = read(answer);
        if (hold == null) {
            return again("the answer names no task with an id and a version", dice, null);
        }
        if (session.holds.containsKey(hold.key())) {
            return new Step.Skipped(hold + " was handed over twice and is already running here", false);
        }
        session.holds.put(hold.key(), hold);
        return new Got(hold);
    }

    @Override
    Step again(String why, double dice, Answer answer) {
        if (stale()) {
            return new Step.Skipped(why + " (this worker has registered anew since)", true);
        }
        return super.again(why, dice, answer);
    }

    /** The hand-over in the answer, or null if it cannot be worked on. */
    @SuppressWarnings("unchecked")
    private Hold read(Answer answer) {
        if (!(answer.members().get("task") instanceof Map<?, ?> task)) {
            return null;
        }
        Map<String, Object> members = (Map<String, Object>) task;
        if (!(members.get("id") instanceof String id && !id.isEmpty() && members.get("version") instanceof Long version)) {
            return null;
        }
        boolean named = members.get("plan_id") instanceof String plan && !plan.isEmpty();
        return new Hold(identity, named ? (String) members.get("plan_id") : session.terms.planId(), id, version, members);
    }
}
