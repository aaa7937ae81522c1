package hiringhall.worker.internal;

import java.util.Map;

/** Where a secret is exchanged for a token, and what is sent. {@code advice} tells people what to check. */
public record Login(String path, Map<String, String> fields, String advice, double answerSeconds) {
    @Override
    public String toString() {
        return "Login at " + path;
    }
}
