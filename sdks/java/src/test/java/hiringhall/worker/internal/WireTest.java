package hiringhall.worker.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The encodings of paths, headers and waits. */
class WireTest {
    private static Answer answer(int status, String... headers) {
        List<Header> found = new java.util.ArrayList<>();
        for (int at = 0; at < headers.length; at += 2) {
            found.add(new Header(headers[at], headers[at + 1]));
        }
        return new Answer(status, found, new byte[0]);
    }

    /** Any text survives its way through a path. */
    @ParameterizedTest
    @ValueSource(strings = {"T-001", "a/b c", "100%", "ä+?#&=", "漢😀", "..", "%2F"})
    void partsComeBack(String text) {
        String part = Wire.part(text);
        assertTrue(part.matches("[A-Za-z0-9_.~%-]+"), part);
        assertEquals(text, Wire.decoded(part));
    }

    /** Forms carry reserved characters. */
    @Test
    void formsAreEncoded() {
        assertEquals("s=1%2B1%3D2%26m%20%C3%A4", new String(Wire.form(Map.of("s", "1+1=2&m ä"))));
    }

    /** Hall-Directive: parts joined by semicolons, ids percent-encoded, what is unknown is ignored. */
    @Test
    void directivesAreRead() {
        Directive all = Directive.of("quiet; terminate; later=1; cancel=r%2F1, r-2,pl%20an/T%2F1");
        assertTrue(all.quiet() && all.terminate());
        assertEquals(Set.of("r/1", "r-2"), all.cancelledCalls());
        assertEquals(Set.of(new Directive.TaskName("pl an", "T/1")), all.cancelledTasks());
        assertFalse(Directive.of(null).quiet());
    }

    /** The back-off doubles from half a second to a minute, and the dice take away at most half. */
    @Test
    void backOffDoubles() {
        assertEquals(0.5, Backoff.seconds(1, 0));
        assertEquals(1.0, Backoff.seconds(2, 0));
        assertEquals(60.0, Backoff.seconds(50, 0));
        assertEquals(30.0, Backoff.seconds(50, 0.999999999), 1e-6);
    }

    /** Retry-After is obeyed, as seconds and as a date measured against the answer's own. */
    @Test
    void retryAfterIsObeyed() {
        assertEquals(2.0, Backoff.waitSeconds(1, 0, answer(503, "retry-after", "2")));
        assertEquals(90.0, Backoff.waitSeconds(1, 0, answer(503, "retry-after", "Wed, 21 Oct 2015 07:29:30 GMT",
                "date", "Wed, 21 Oct 2015 07:28:00 GMT")));
        assertEquals(3600.0, Backoff.waitSeconds(1, 0, answer(503, "retry-after", "1e9")));
        assertEquals(0.5, Backoff.waitSeconds(1, 0, answer(503, "retry-after", "soon")));
        assertEquals(0.5, Backoff.waitSeconds(1, 0, answer(503, "retry-after", "-1")));
        assertNull(Wire.interval("nan"));
        assertEquals(0.05, Wire.interval("0.0001"));
    }

    /** A server's text is harmless in a log, and a refusal is one line. */
    @Test
    void refusalsAreOneLine() {
        byte[] body = "{\"error_code\":\"x\",\"detail\":\"a\\nb\\u001b[31m\\ud800\"}".getBytes();
        assertEquals("the server answered 409 x (a b [31m\ufffd)", Envelope.explain(new Answer(409, List.of(), body)));
    }

    /** Requests, logins and identities keep tokens and secrets out of their texts. */
    @Test
    void secretsAreNotTold() {
        Request request = new Request("claim", "POST", "/x", "hidden", "hidden".getBytes(), 1,
                new Header("Idempotency-Key", "hidden"));
        assertFalse(request.toString().contains("hidden"));
        assertFalse(new Login("/x", Map.of("secret", "hidden"), "", 1).toString().contains("hidden"));
        assertFalse(new hiringhall.worker.internal.plans.Identity("w", "hidden").toString().contains("hidden"));
    }

    /** An address is http or https, keeps its path, and holds no secret. */
    @Test
    void addressesAreChecked() {
        Address address = Address.of(" http://[::1]:8400/hall/ ", null);
        assertEquals("::1", address.host());
        assertEquals(8400, address.port());
        assertEquals("/hall", address.prefix());
        assertEquals("[::1]:8400", address.authority());
        assertEquals("my_hall", Address.of("http://my_hall:80", null).host());
        assertEquals(443, Address.of("https://hall.example", null).port());
        for (String wrong : List.of("ftp://x", "hall:8400", "", "http://u:p@x", "http://x?y", "http:// x", "http://x:y", "http:/x")) {
            assertThrows(IllegalArgumentException.class, () -> Address.of(wrong, null));
        }
    }
}
