package hiringhall.worker.internal;

import java.util.List;

/** One request. Its token, headers and body stay out of its text, and so out of every log. */
public record Request(
        String verb,
        String method,
        String path,
        String token,
        byte[] body,
        double timeoutSeconds,
        List<Header> headers,
        boolean repeatable,
        String contentType) {
    public static final String JSON = "application/json";
    public static final String FORM = "application/x-www-form-urlencoded";

    /** A request with a JSON body, which may be sent again on a new connection. */
    public Request(
            String verb, String method, String path, String token, byte[] body, double timeoutSeconds,
            Header... headers) {
        this(verb, method, path, token, body, timeoutSeconds, List.of(headers), true, JSON);
    }

    /** The same, never sent a second time without a pause. */
    public Request onceOnly() {
        return new Request(verb, method, path, token, body, timeoutSeconds, headers, false, contentType);
    }

    @Override
    public String toString() {
        return verb + " " + method + " " + path;
    }
}
