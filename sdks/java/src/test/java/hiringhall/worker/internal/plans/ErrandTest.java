package hiringhall.worker.internal.plans;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hiringhall.worker.RefusedException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The protocol of a plan worker without sockets, clock and threads. */
class ErrandTest {
    private static final String TASK = "{\"task\":{\"id\":\"T/1\",\"plan_id\":\"p\",\"version\":2}}";

    private int keys;
    private final Session session =
            new Session(new Terms("p", "host", "boot", null, 30, 10, 30), () -> "key-" + ++keys, null);

    private static Answer answer(int status, String body, Header... headers) {
        return new Answer(status, List.of(headers), body.getBytes());
    }

    @BeforeEach
    void register() {
        Step step = new Register(session).receive(
                answer(201, "{\"worker_id\":\"w-1\",\"token\":\"t\"}", new Header("hall-heartbeat", "20")), 0);
        assertEquals(Step.DONE, step);
    }

    private Hold claimed() {
        return assertInstanceOf(Errand.Got.class, new Claim(session).receive(answer(200, TASK), 0)).hold();
    }

    private static String header(Request request, String name) {
        return request.headers().stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow().value();
    }

    /** Registering brings who the worker is, and how often it beats. */
    @Test
    void registeringBringsAnIdentity() {
        assertEquals("w-1", session.identity.workerId());
        assertEquals(20, session.beatSeconds());
        assertFalse(new Register(session).request().repeatable());
    }

    /** A claim names worker and plan, carries the same key on every attempt, and says what is held. */
    @Test
    void claimsCarryOneKey() {
        claimed();
        Claim claim = new Claim(session);
        Request first = claim.request();
        assertEquals("{\"worker_id\":\"w-1\",\"plan_id\":\"p\",\"wait\":30}", new String(first.body()));
        assertEquals("p/T%2F1@2", header(first, "Hall-Holding"));
        assertInstanceOf(Step.Again.class, claim.receive(new Lost("gone"), 0));
        assertEquals(header(first, "Idempotency-Key"), header(claim.request(), "Idempotency-Key"));
    }

    /** What a claim can bring: a task, nothing, the same task twice, nonsense. */
    @Test
    void claimsAreJudged() {
        assertInstanceOf(Errand.Empty.class, new Claim(session).receive(answer(204, ""), 0));
        claimed();
        assertInstanceOf(Step.Skipped.class, new Claim(session).receive(answer(200, TASK), 0));
        for (String nonsense : List.of("", "[]", "{}", "{\"task\":{\"id\":\"\",\"version\":1}}",
                "{\"task\":{\"id\":\"a\",\"version\":1.5}}", "{\"task\":{\"id\":\"a\",\"version\":true}}")) {
            assertInstanceOf(Step.Again.class, new Claim(session).receive(answer(200, nonsense), 0));
        }
    }

    /** Settling is the same request, byte for byte, until it is answered; then the hold is forgotten. */
    @Test
    void settlingIsRepeated() {
        Settle settle = new Settle(session, claimed(), Verb.FAIL, "why \ud800");
        Request first = settle.request();
        assertEquals("/tasks/T%2F1/fail", first.path());
        assertEquals("{\"worker_id\":\"w-1\",\"version\":2,\"plan_id\":\"p\",\"reason\":\"why \\ufffd\"}",
                new String(first.body()));
        assertEquals(1.0, ((Step.Again) settle.receive(answer(503, "", new Header("retry-after", "1")), 0)).afterSeconds());
        assertEquals(new String(first.body()), new String(settle.request().body()));
        assertEquals(header(first, "Idempotency-Key"), header(settle.request(), "Idempotency-Key"));
        assertEquals(1, session.holds.size());
        assertEquals(Step.DONE, settle.receive(answer(200, "{}"), 0));
        assertTrue(session.holds.isEmpty());
    }

    /** "actual_status is DONE / FAILED / SKIPPED → idempotent retry — the worker treats it as success and moves on." */
    @Test
    void conflictsOfOnesOwnAreExpected() {
        String own = "{\"error_code\":\"version_conflict\",\"actual_version\":2,\"actual_status\":\"DONE\"}";
        String other = "{\"error_code\":\"version_conflict\",\"actual_version\":3,\"actual_status\":\"DONE\"}";
        assertTrue(conflict(answer(409, own)).expected());
        assertTrue(conflict(answer(409, other, new Header("hall-finished-by", "self"))).expected());
        assertFalse(conflict(answer(409, other)).expected());
    }

    private Step.Skipped conflict(Answer answer) {
        session.holds.clear();
        return (Step.Skipped) new Settle(session, claimed(), Verb.COMPLETE, null).receive(answer, 0);
    }

    /** A reason that is too long for the server is made shorter, with another key. */
    @Test
    void longReasonsAreShortened() {
        Settle settle = new Settle(session, claimed(), Verb.FAIL, "x".repeat(9000));
        String key = header(settle.request(), "Idempotency-Key");
        assertEquals(0, ((Step.Again) settle.receive(answer(413, ""), 0)).afterSeconds());
        assertTrue(settle.request().body().length < 1000);
        assertFalse(key.equals(header(settle.request(), "Idempotency-Key")));
    }

    /** "401 / 403: Crash — the supervisor restarts with fresh config"; a wrong address ends it as well. */
    @Test
    void refusalsCrash() {
        assertInstanceOf(UnauthorizedException.class, crash(new Claim(session), 401));
        assertInstanceOf(UnauthorizedException.class, crash(new Register(session), 403));
        assertInstanceOf(RefusedException.class, crash(new Claim(session), 404));
        assertInstanceOf(Step.Again.class, new Heartbeat(session).receive(answer(404, ""), 0));
    }

    private static Exception crash(Errand errand, int status) {
        return assertInstanceOf(Step.Crash.class, errand.receive(answer(status, "{}"), 0)).error();
    }

    /** What the hall asks of the worker is heard on each of its answers, and not on those of a proxy. */
    @Test
    void directivesAreHeard() {
        Hold hold = claimed();
        Header asked = new Header("hall-directive", "quiet; cancel=p/T%2F1");
        new Heartbeat(session).receive(answer(502, "", asked), 0);
        assertFalse(session.quiet);
        new Heartbeat(session).receive(answer(200, "{\"ok\":true}", asked), 0);
        assertTrue(session.quiet && hold.cancelled);
        assertEquals(5, session.beatSeconds());
    }

    /** `{"ok": false}`: the worker registers anew, and what it asks for under the old id ends nothing. */
    @Test
    void forgottenWorkersRegisterAnew() {
        Claim old = new Claim(session);
        Step step = new Heartbeat(session).receive(answer(200, "{\"ok\":false}"), 0);
        assertEquals(new Step.Unregistered(true), step);
        new Register(session).receive(answer(201, "{\"worker_id\":\"w-2\",\"token\":\"u\"}"), 0);
        assertInstanceOf(Step.Skipped.class, old.receive(answer(401, ""), 0));
    }
}
