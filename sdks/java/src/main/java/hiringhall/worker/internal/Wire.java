package hiringhall.worker.internal;

import hiringhall.worker.Json;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.Map;
import java.util.stream.Collectors;

/** The encodings of paths, headers and bodies. */
public final class Wire {
    private static final String UNRESERVED = "_.-~";
    // The shortest interval that is obeyed, so that no answer makes a worker beat without a pause.
    private static final double LEAST_INTERVAL_SECONDS = 0.05;

    private Wire() {}

    /** A text percent-encoded by itself, fit to stand between slashes. */
    public static String part(String text) {
        StringBuilder found = new StringBuilder();
        for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
            char letter = (char) (each & 0xff);
            boolean plain = letter < 128 && (Character.isLetterOrDigit(letter) || UNRESERVED.indexOf(letter) >= 0);
            found.append(plain ? String.valueOf(letter) : String.format("%%%02X", (int) letter));
        }
        return found.toString();
    }

    /** What a percent-encoded text stands for; what is no encoding stays as it is. */
    public static String decoded(String text) {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        for (int at = 0; at < bytes.length; at++) {
            int high = at + 2 < bytes.length && bytes[at] == '%' ? Character.digit(bytes[at + 1], 16) : -1;
            int low = high < 0 ? -1 : Character.digit(bytes[at + 2], 16);
            if (low >= 0) {
                found.write(high * 16 + low);
                at += 2;
            } else {
                found.write(bytes[at]);
            }
        }
        return found.toString(StandardCharsets.UTF_8);
    }

    /** Fields as the body of a form. */
    public static byte[] form(Map<String, String> fields) {
        return fields.entrySet().stream()
                .map(field -> part(field.getKey()) + "=" + part(field.getValue()))
                .collect(Collectors.joining("&"))
                .getBytes(StandardCharsets.US_ASCII);
    }

    /** Members as JSON; the same members give the same bytes. */
    public static byte[] body(Map<String, ?> members) {
        return Json.bytes(members);
    }

    /** A token that a header can carry: visible ASCII, not empty. */
    public static boolean sendable(String token) {
        return !token.isEmpty() && token.chars().allMatch(letter -> letter >= '!' && letter <= '~');
    }

    /** A text that JSON in UTF-8 can carry: a surrogate without its other half is replaced. */
    public static String reportable(String text) {
        return text.codePoints()
                .map(point -> point >= Character.MIN_SURROGATE && point <= Character.MAX_SURROGATE ? 0xfffd : point)
                .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
                .toString();
    }

    /** At most so many characters of a text, never half a character. */
    public static String shortened(String text, int most) {
        if (text.length() <= most) {
            return text;
        }
        return text.substring(0, Character.isHighSurrogate(text.charAt(most - 1)) ? most - 1 : most);
    }

    /** The seconds between two heartbeats; null if they are missing or no positive number. */
    public static Double interval(String text) {
        Double seconds = number(text);
        return seconds == null || seconds <= 0 ? null : Math.max(seconds, LEAST_INTERVAL_SECONDS);
    }

    /** A finite decimal number, or null. */
    public static Double number(String text) {
        if (text == null || !text.strip().matches("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?")) {
            return null;
        }
        double value = Double.parseDouble(text.strip());
        return Double.isInfinite(value) ? null : value;
    }

    /** Seconds as a text without an exponent, at most milliseconds. */
    public static String seconds(double value) {
        return new java.math.BigDecimal(value).setScale(3, java.math.RoundingMode.HALF_EVEN).stripTrailingZeros()
                .toPlainString();
    }

    /** A time of RFC 3339; null if it is none. */
    public static Instant moment(Object value) {
        try {
            return value instanceof String text ? OffsetDateTime.parse(text.strip()).toInstant() : null;
        } catch (DateTimeParseException problem) {
            return null;
        }
    }
}
