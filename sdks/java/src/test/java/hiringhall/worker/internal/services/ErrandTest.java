package hiringhall.worker.internal.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hiringhall.worker.RefusedException;
import hiringhall.worker.SupersededException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The protocol of a service worker without sockets, clock and threads. */
class ErrandTest {
    private int keys;
    private final Session session = new Session(
            new Terms("math", "w/1", Map.of("run_mode", "Eager"), 2.5, 10, null), () -> "key-" + ++keys);

    private static Answer answer(int status, String body, Header... headers) {
        return new Answer(status, List.of(headers), body.getBytes());
    }

    private List<Hold> drained(String body) {
        Step step = new Errands.Drain(session, 3, true).receive(answer(200, body), 0);
        return assertInstanceOf(Errands.Drained.class, step).holds();
    }

    private static String key(Request request) {
        return request.headers().get(0).value();
    }

    /** Registration tells what is offered; its answer is the settings, and how often to beat. */
    @Test
    void registrationBringsSettings() {
        Errands.Register errand = new Errands.Register(session);
        assertEquals("{\"worker_id\":\"w/1\",\"service_id\":\"math\",\"run_mode\":\"Eager\"}",
                new String(errand.request("t").body()));
        assertInstanceOf(Step.Again.class, errand.receive(answer(200, "[]"), 0));
        assertEquals(Step.DONE, errand.receive(answer(200, "{\"heartbeat_delay\":\"7\",\"key\":\"v\",\"n\":1}"), 0));
        assertEquals(Map.of("heartbeat_delay", "7", "key", "v"), session.settings());
        assertEquals(7, session.beatSeconds());
    }

    /** A drain says for how many calls there is room, how long it may be held, and what is held. */
    @Test
    void drainsAskForWhatFits() {
        drained("[{\"request_id\":\"r/1\",\"method\":\"add\"}]");
        Request request = new Errands.Drain(session, 3, true).request("t");
        assertEquals("/worker/messages?wait=2.5&max=3", request.path());
        assertEquals(List.of(new Header("Hall-Holding", "r%2F1")), request.headers());
        assertEquals("/worker/messages?max=3", new Errands.Drain(session, 3, false).request("t").path());
    }

    /** What runs here already is answered once; what cannot be answered is left out; what cannot be read is no answer. */
    @Test
    void drainsAreJudged() {
        assertEquals(1, drained("[{\"request_id\":\"r1\",\"method\":\"add\",\"x\":1},{\"request_id\":7},null]").size());
        assertEquals(0, drained("[{\"request_id\":\"r1\",\"method\":\"add\"}]").size());
        for (String nonsense : List.of("", "{}", "[", "null")) {
            assertInstanceOf(Step.Again.class, new Errands.Drain(session, 1, true).receive(answer(200, nonsense), 0));
        }
        assertInstanceOf(Step.Unregistered.class, new Errands.Drain(session, 1, true)
                .receive(answer(409, "{\"error_code\":\"not_registered\"}"), 0));
    }

    /** A refused token is renewed, then had anew by the secret; a third refusal ends it. */
    @Test
    void tokensAreRenewedTwice() {
        Errands.Drain errand = new Errands.Drain(session, 1, true);
        assertEquals(new Step.Renew(false), errand.receive(answer(401, ""), 0));
        assertEquals(new Step.Renew(true), errand.receive(answer(401, ""), 0));
        assertInstanceOf(UnauthorizedException.class, ((Step.Crash) errand.receive(answer(401, ""), 0)).error());
    }

    /** What ends a worker: another process with its id, a service that it may not serve, a wrong address. */
    @Test
    void refusalsCrash() {
        String superseded = "{\"error_code\":\"worker_superseded\"}";
        assertInstanceOf(SupersededException.class, crash(new Errands.Heartbeat(session), answer(409, superseded)));
        assertInstanceOf(UnauthorizedException.class, crash(new Errands.Register(session), answer(403, "")));
        assertInstanceOf(RefusedException.class, crash(new Errands.Drain(session, 1, true), answer(404, "")));
    }

    private static Exception crash(Errand errand, Answer answer) {
        return assertInstanceOf(Step.Crash.class, errand.receive(answer, 0)).error();
    }

    /** An answer is the same request, byte for byte, until it is taken; one that the hall cannot take becomes an error. */
    @Test
    void answersAreRepeated() {
        Hold hold = drained("[{\"request_id\":\"r1\",\"method\":\"add\"}]").get(0);
        Errands.Respond errand = new Errands.Respond(session, hold, Outcome.success("1E+400"));
        Request first = errand.request("t");
        assertEquals("{\"request_id\":\"r1\",\"status\":\"success\",\"error_text\":null,\"result\":1E+400}",
                new String(first.body()));
        assertInstanceOf(Step.Again.class, errand.receive(new Lost("gone"), 0));
        assertEquals(new String(first.body()), new String(errand.request("t").body()));
        assertEquals(key(first), key(errand.request("t")));
        assertEquals(0, ((Step.Again) errand.receive(answer(413, "{}"), 0)).afterSeconds());
        assertTrue(new String(errand.request("t").body()).contains("\"status\":\"error\""));
        assertFalse(key(first).equals(key(errand.request("t"))));
        assertInstanceOf(Step.Skipped.class, errand.receive(answer(422, "{}"), 0));
    }

    /** A bare `false` asks for a registration; a failed beat is followed by the next one in time. */
    @Test
    void heartbeatsAreJudged() {
        Errands.Heartbeat errand = new Errands.Heartbeat(session);
        assertEquals("/worker/heartbeat/w%2F1", errand.request("t").path());
        assertInstanceOf(Step.Unregistered.class, errand.receive(answer(200, "false\n"), 0));
        assertEquals(Step.DONE, errand.receive(answer(200, "true"), 0));
        session.toldBeatSeconds = 0.2;
        assertEquals(0.2, ((Step.Again) errand.receive(new Lost("gone"), 0)).afterSeconds());
    }

    /** Cancellations are heard on every answer, also on a refusal of the hall. */
    @Test
    void directivesAreHeard() {
        Hold hold = drained("[{\"request_id\":\"r1\",\"method\":\"add\"}]").get(0);
        new Errands.Heartbeat(session).receive(answer(200, "true", new Header("hall-directive", "cancel=r1,r2")), 0);
        assertTrue(hold.cancelled);
        new Errands.Heartbeat(session).receive(answer(200, "true", new Header("hall-directive", "terminate")), 0);
        assertTrue(session.terminated);
    }

    /** A goodbye names what has not been begun. */
    @Test
    void goodbyesNameWhatIsNotBegun() {
        List<Hold> holds = drained("[{\"request_id\":\"r1\"},{\"request_id\":\"r2\"}]");
        assertEquals("{\"unstarted\":[\"r1\",\"r2\"]}",
                new String(new Errands.Goodbye(session, holds).request("t").body()));
    }
}
