package hiringhall.worker.internal;

import hiringhall.worker.Json;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** A complete answer. Header names are lower-case. */
public record Answer(int status, List<Header> headers, byte[] body) implements Reply {
    /** All values of a header joined by a semicolon, or null without any. */
    public String header(String name) {
        List<String> found =
                headers.stream().filter(header -> header.name().equals(name)).map(Header::value).toList();
        return found.isEmpty() ? null : found.stream().collect(Collectors.joining("; "));
    }

    /** The members of the JSON object in the body; empty if it is anything else. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> members() {
        try {
            return Json.parse(body) instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
        } catch (IllegalArgumentException problem) {
            return Map.of();
        }
    }

    /** The body without the space around it. */
    public String text() {
        return new String(body, StandardCharsets.UTF_8).strip();
    }

    public boolean successful() {
        return status >= 200 && status < 300;
    }

    @Override
    public String toString() {
        return "Answer " + status;
    }
}
