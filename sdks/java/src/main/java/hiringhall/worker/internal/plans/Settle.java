package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Envelope;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Wire;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** End a hold: complete, fail or release. Every attempt is the same request, byte for byte. */
final class Settle extends Errand {
    // The server keeps 2048 characters and marks the cut; more than this is never of use to it.
    private static final int REASON_CHARACTERS = 4096;
    private static final int SHORTER = 8;
    private static final Set<String> FINISHED = Set.of("DONE", "FAILED", "SKIPPED");

    final Hold hold;
    private String reason;
    private String key;

    Settle(Session session, Hold hold, Verb verb, String reason) {
        super(session, hold.identity, verb);
        this.hold = hold;
        this.reason = reason == null ? null : Wire.reportable(Wire.shortened(reason, REASON_CHARACTERS));
        this.key = session.newKey.get();
    }

    @Override
    Request request() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("worker_id", identity.workerId());
        members.put("version", hold.version);
        members.put("plan_id", hold.planId);
        if (reason != null) {
            members.put("reason", reason);
        }
        return new Request(
                verb.word(), "POST", "/tasks/" + Wire.part(hold.taskId) + "/" + verb.word(), identity.token(),
                Wire.body(members), session.terms.answerSeconds(), new Header("Idempotency-Key", key));
    }

    @Override
    Step receive(Reply reply, double dice) {
        Step step = super.receive(reply, dice);
        if (!(step instanceof Step.Again)) {
            session.forget(hold);
        }
        return step;
    }

    @Override
    Step judge(Verdict found, Answer answer, double dice) {
        if (found == Verdict.ACCEPTED) {
            return Step.DONE;
        }
        if (found == Verdict.SHORTEN && reason != null && !reason.isEmpty()) {
            // Another body needs another key.
            reason = Wire.shortened(reason, reason.length() / SHORTER);
            key = session.newKey.get();
            return new Step.Again(0, "the reason is too long for the server; a shorter one follows");
        }
        return new Step.Skipped(Envelope.explain(answer), hold.cancelled || settledAlready(answer));
    }

    /** A 409 that tells of this worker's own success: an answer of it was lost, and the repetition came late. */
    private boolean settledAlready(Answer answer) {
        if (answer.status() != 409) {
            return false;
        }
        Map<String, Object> members = answer.members();
        return "self".equals(answer.header("hall-finished-by"))
                || (Long.valueOf(hold.version).equals(members.get("actual_version"))
                        && members.get("actual_status") instanceof String status && FINISHED.contains(status));
    }
}
