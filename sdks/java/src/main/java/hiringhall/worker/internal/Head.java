package hiringhall.worker.internal;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The head of an answer: its status and its headers, whose names are lower-case. */
record Head(String version, int status, List<Header> headers) {
    private static final int MOST_HEADERS = 200;

    /** Read heads until the one of the final answer. */
    static Head read(Lines source) throws IOException {
        Head head = one(source);
        while (head.status < 200) {
            head = one(source);
        }
        return head;
    }

    private static Head one(Lines source) throws IOException {
        String line = source.line();
        String[] words = line.split(" ", 3);
        if (words.length < 2 || !words[0].startsWith("HTTP/1.") || !words[1].matches("[1-9]\\d\\d")) {
            throw new IOException("what answers does not speak HTTP");
        }
        List<Header> headers = new ArrayList<>();
        for (String next = source.line(); !next.isEmpty(); next = source.line()) {
            int colon = next.indexOf(':');
            if (colon <= 0 || headers.size() >= MOST_HEADERS) {
                throw new IOException("the head of the answer is malformed");
            }
            headers.add(new Header(
                    next.substring(0, colon).strip().toLowerCase(Locale.ROOT), next.substring(colon + 1).strip()));
        }
        return new Head(words[0], Integer.parseInt(words[1]), headers);
    }

    String header(String name) {
        return headers.stream().filter(each -> each.name().equals(name)).map(Header::value).findFirst().orElse("");
    }

    /** Whether another request may follow on the connection. */
    boolean keepsOpen() {
        String connection = header("connection").toLowerCase(Locale.ROOT);
        return connection.contains("keep-alive") || (!version.equals("HTTP/1.0") && !connection.contains("close"));
    }

    /** Whether the end of the body is told by itself, and not by the end of the connection. */
    boolean framed() {
        return bodiless() || chunked() || !header("content-length").isEmpty();
    }

    private boolean bodiless() {
        return status == 204 || status == 304;
    }

    private boolean chunked() {
        return header("transfer-encoding").toLowerCase(Locale.ROOT).contains("chunked");
    }

    Body body(Lines source) throws IOException {
        if (bodiless()) {
            return Body.ofLength(source, 0);
        }
        if (chunked()) {
            return Body.inChunks(source);
        }
        if (!framed()) {
            return Body.untilClose(source);
        }
        String length = header("content-length");
        if (!length.matches("\\d{1,15}")) {
            throw new IOException("the length of the answer is malformed");
        }
        return Body.ofLength(source, Long.parseLong(length));
    }
}
