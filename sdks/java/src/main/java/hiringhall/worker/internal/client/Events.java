package hiringhall.worker.internal.client;

import java.util.ArrayList;
import java.util.List;

/** Reads server-sent events out of their lines. */
public final class Events {
    private String lastId = "";
    private String id = "";
    private String name = "";
    private final List<String> data = new ArrayList<>();

    /** The id of the last event, over all lines that were fed. */
    public String lastId() {
        return lastId;
    }

    /** The event that this line completes, or null. */
    public Event feed(String line) {
        if (line.isEmpty()) {
            return completed();
        }
        int colon = line.indexOf(':');
        String field = colon < 0 ? line : line.substring(0, colon);
        String value = colon < 0 ? "" : line.substring(colon + 1);
        value = value.startsWith(" ") ? value.substring(1) : value;
        if (field.equals("event")) {
            name = value;
        } else if (field.equals("data")) {
            data.add(value);
        } else if (field.equals("id") && value.indexOf('\0') < 0) {
            id = value;
        }
        return null;
    }

    /** Forget an event that was cut off; the next line comes from a new stream. */
    public void restart() {
        id = lastId;
        name = "";
        data.clear();
    }

    private Event completed() {
        lastId = id;
        Event event = data.isEmpty()
                ? null : new Event(name.isEmpty() ? "message" : name, String.join("\n", data), lastId);
        restart();
        return event;
    }
}
