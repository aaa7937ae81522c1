package hiringhall.worker.internal.services;

import hiringhall.worker.Json;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Backoff;
import hiringhall.worker.internal.Envelope;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Wire;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The protocol of a service worker as a state machine: what to send next, and what an answer means. */
final class Errands {
    /** A drain brought these calls, or none. */
    record Drained(List<Hold> holds) implements Step {}

    private Errands() {}

    /** Tell the hall what this worker offers; the answer is the service's settings. */
    static final class Register extends Errand {
        Register(Session session) {
            super(session, Verb.REGISTER);
        }

        @Override
        Request request(String token) {
            Terms terms = session.terms;
            Map<String, Object> members = new LinkedHashMap<>();
            members.put("worker_id", terms.workerId());
            members.put("service_id", terms.service());
            members.putAll(terms.profile());
            return new Request(
                    verb.word(), "POST", "/worker/registration", token, Json.bytes(members), terms.answerSeconds());
        }

        @Override
        Step judge(Verdict found, Answer answer, double dice) {
            Map<String, Object> members = answer.members();
            if (members.isEmpty() && !answer.text().equals("{}")) {
                return again("the answer is no map of settings", dice, null);
            }
            Map<String, String> settings = new LinkedHashMap<>();
            members.forEach((name, value) -> {
                if (value instanceof String text) {
                    settings.put(name, text);
                }
            });
            session.settings = java.util.Collections.unmodifiableMap(settings);
            session.toldBeatSeconds = Wire.interval(String.valueOf(members.get("heartbeat_delay")));
            session.registered = true;
            session.quiet = false;
            return Step.DONE;
        }
    }

    /** Ask for calls, at most so many. {@code wait} lets the hall hold the request while there are none. */
    static final class Drain extends Errand {
        private final int most;
        private final boolean wait;

        Drain(Session session, int most, boolean wait) {
            super(session, Verb.DRAIN);
            this.most = most;
            this.wait = wait;
        }

        @Override
        Request request(String token) {
            Terms terms = session.terms;
            double seconds = wait ? terms.holdSeconds() : 0;
            String query = (wait ? "wait=" + Wire.seconds(seconds) + "&" : "") + "max=" + most;
            return new Request(
                    verb.word(), "GET", "/worker/messages?" + query, token, NO_BODY, seconds + terms.answerSeconds(),
                    session.holding());
        }

        @Override
        Step judge(Verdict found, Answer answer, double dice) {
            if (found == Verdict.UNREGISTERED) {
                return new Step.Unregistered(true);
            }
            Object messages;
            try {
                messages = Json.parse(answer.body());
            } catch (IllegalArgumentException problem) {
                return again("the answer cannot be read: " + problem.getMessage(), dice, null);
            }
            if (!(messages instanceof List<?> list)) {
                return again("the answer is no array of messages", dice, null);
            }
            attempts = 0;
            return new Drained(newHolds(list));
        }

        private List<Hold> newHolds(List<?> messages) {
            List<Hold> found = new ArrayList<>();
            for (Object message : messages) {
                Hold hold = Hold.of(message);
                // One that runs here already was handed over anew; it is answered once.
                if (hold != null && session.holds.putIfAbsent(hold.requestId, hold) == null) {
                    found.add(hold);
                }
            }
            return found;
        }
    }

    /** Try to become the one worker that owns an offered call. It is somebody else's if the answer is not 2xx. */
    static final class Lock extends Errand {
        private final Hold hold;

        Lock(Session session, Hold hold) {
            super(session, Verb.LOCK);
            this.hold = hold;
        }

        @Override
        Request request(String token) {
            return new Request(
                    verb.word(), "PUT", "/worker/lock_request/" + Wire.part(hold.requestId), token, NO_BODY,
                    session.terms.answerSeconds());
        }
    }

    /** Tell how a call ended. Every attempt is the same request, byte for byte. */
    static final class Respond extends Errand {
        private final Hold hold;
        private boolean replaced;
        private byte[] body;
        private String key;

        Respond(Session session, Hold hold, Outcome outcome) {
            super(session, Verb.RESPONSE);
            this.hold = hold;
            say(outcome);
        }

        private void say(Outcome outcome) {
            Map<String, Object> told = new LinkedHashMap<>();
            told.put("request_id", hold.requestId);
            told.put("status", outcome.status());
            told.put("error_text", outcome.errorText());
            String head = Json.write(told);
            String whole = head.substring(0, head.length() - 1) + ",\"result\":" + outcome.result() + "}";
            body = whole.getBytes(StandardCharsets.US_ASCII);
            key = session.newKey.get();
        }

        @Override
        Request request(String token) {
            return new Request(
                    verb.word(), "POST", "/worker/response", token, body, session.terms.answerSeconds(),
                    new Header("Idempotency-Key", key));
        }

        @Override
        Step judge(Verdict found, Answer answer, double dice) {
            if (found == Verdict.ACCEPTED) {
                return Step.DONE;
            }
            if (found == Verdict.REPLACE && !replaced) {
                // Another body needs another key.
                replaced = true;
                String text = "the hall did not take the answer of " + body.length + " bytes: "
                        + Envelope.explain(answer);
                say(Outcome.error(session.terms.service() + "/" + hold.method + ": " + text));
                return new Step.Again(0, text);
            }
            return new Step.Skipped(Envelope.explain(answer), hold.cancelled);
        }
    }

    /** Pass on what methods say while they run: items in their JSON form. */
    static final class Feedback extends Errand {
        private final byte[] body;

        Feedback(Session session, List<String> items) {
            super(session, Verb.FEEDBACK);
            body = ("[" + String.join(",", items) + "]").getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        Request request(String token) {
            return new Request(
                    verb.word(), "POST", "/worker/feedback", token, body, session.terms.answerSeconds());
        }
    }

    /** Say that the worker lives, and what it holds. */
    static final class Heartbeat extends Errand {
        Heartbeat(Session session) {
            super(session, Verb.HEARTBEAT);
        }

        @Override
        Request request(String token) {
            return new Request(
                    verb.word(), "GET", "/worker/heartbeat/" + Wire.part(session.terms.workerId()), token, NO_BODY,
                    session.terms.answerSeconds(), session.holding());
        }

        @Override
        Step judge(Verdict found, Answer answer, double dice) {
            return answer.text().equals("false") ? new Step.Unregistered(true) : Step.DONE;
        }

        @Override
        Step again(String why, double dice, Answer answer) {
            double wait = Backoff.waitSeconds(attempts, dice, answer);
            boolean asked = answer != null && answer.header("retry-after") != null;
            return new Step.Again(asked ? wait : Math.min(wait, session.beatSeconds()), why);
        }
    }

    /** Say that this worker takes nothing new, and name what it was given and has not begun. */
    static final class Goodbye extends Errand {
        private final List<String> ids;

        Goodbye(Session session, List<Hold> unstarted) {
            super(session, Verb.GOODBYE);
            ids = unstarted.stream().map(hold -> hold.requestId).toList();
        }

        @Override
        Request request(String token) {
            return new Request(
                    verb.word(), "PUT", "/worker/notify_worker_shutdown/" + Wire.part(session.terms.workerId()), token,
                    Wire.body(Map.of("unstarted", ids)), session.terms.answerSeconds());
        }
    }
}
