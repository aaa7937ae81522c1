package hiringhall.worker.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hiringhall.worker.RefusedException;
import hiringhall.worker.SupersededException;
import hiringhall.worker.UnauthorizedException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tokens that are had for a secret. */
class GrantTest {
    private final Grant grant = new Grant(new Login("/auth", Map.of("secret", "s&"), "check it", 10));

    private static Answer answer(int status, String body) {
        return new Answer(status, List.of(), body.getBytes());
    }

    private static Answer token(int seconds) {
        return answer(200, "{\"access_token\":\"t\",\"refresh_token\":\"r\",\"expires_in\":" + seconds + "}");
    }

    private String sent() {
        return new String(grant.request().body());
    }

    /** The secret brings the first token, the refresh token the next one, five minutes before the end. */
    @Test
    void tokensAreRenewedInTime() {
        assertEquals("grant_type=client_credentials&secret=s%26", sent());
        assertEquals(Step.DONE, grant.receive(token(3600), 0, 100));
        assertFalse(grant.wanted(100 + 3299));
        assertTrue(grant.wanted(100 + 3301));
        assertTrue(grant.usable(100 + 3599));
        assertEquals("grant_type=refresh_token&refresh_token=r", sent());
    }

    /** A token that lasts less than ten minutes is renewed halfway. */
    @Test
    void shortTokensAreRenewedHalfway() {
        grant.receive(token(10), 0, 0);
        assertFalse(grant.wanted(4.9));
        assertTrue(grant.wanted(5.1));
    }

    /** With a dead refresh token the worker logs in again, at once. */
    @Test
    void deadRefreshTokenLogsIn() {
        grant.receive(token(10), 0, 0);
        Step step = grant.receive(answer(401, "{\"error\":\"invalid_grant\"}"), 0, 5);
        assertEquals(0, assertInstanceOf(Step.Again.class, step).afterSeconds());
        assertTrue(sent().startsWith("grant_type=client_credentials"));
    }

    /** A wrong secret, a wrong address and a taken id end it; what may pass is tried again. */
    @Test
    void refusalsAreToldApart() {
        assertInstanceOf(UnauthorizedException.class, crash(answer(401, "{}")));
        assertInstanceOf(RefusedException.class, crash(answer(404, "")));
        assertInstanceOf(SupersededException.class, crash(answer(409, "{\"error_code\":\"worker_superseded\"}")));
        for (Reply later : List.of(answer(503, ""), answer(429, ""), answer(200, "{}"), new Lost("gone"))) {
            assertInstanceOf(Step.Again.class, grant.receive(later, 0, 0));
        }
    }

    private Exception crash(Reply reply) {
        return assertInstanceOf(Step.Crash.class, grant.receive(reply, 0, 0)).error();
    }

    /** A refused token is used no more; refused again, the refresh token neither. */
    @Test
    void refusedTokensAreForgotten() {
        grant.receive(token(3600), 0, 0);
        grant.refuse("another", false);
        assertFalse(grant.wanted(1));
        grant.refuse("t", false);
        assertTrue(grant.wanted(1));
        assertTrue(sent().startsWith("grant_type=refresh_token"));
        grant.receive(token(3600), 0, 0);
        grant.refuse("t", true);
        assertTrue(sent().startsWith("grant_type=client_credentials"));
    }
}
