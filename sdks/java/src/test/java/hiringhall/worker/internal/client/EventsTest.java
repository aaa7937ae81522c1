package hiringhall.worker.internal.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Server-sent events. */
class EventsTest {
    private final Events events = new Events();

    private List<Event> fed(String... lines) {
        List<Event> found = new ArrayList<>();
        for (String line : lines) {
            Event event = events.feed(line);
            if (event != null) {
                found.add(event);
            }
        }
        return found;
    }

    /** Events have a name, data of several lines, and an id; comments and unknown fields are none. */
    @Test
    void eventsAreRead() {
        assertEquals(
                List.of(new Event("feedback", "{\n}", "7"), new Event("message", "x", "7")),
                fed(": hello", "event: feedback", "id: 7", "data: {", "data:}", "retry: 1", "", "data: x", "", ""));
        assertEquals("7", events.lastId());
    }

    /** An event that was cut off is none, and the stream is taken up after the one before it. */
    @Test
    void cutEventsAreForgotten() {
        fed("id: 1", "data: a", "");
        fed("id: 2", "data: half");
        events.restart();
        assertEquals("1", events.lastId());
        assertNull(events.feed(""));
    }
}
