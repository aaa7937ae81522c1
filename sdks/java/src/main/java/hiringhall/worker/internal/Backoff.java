package hiringhall.worker.internal;

import java.time.Duration;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeParseException;

/** How long to wait before the next attempt, as arithmetic on given numbers. */
public final class Backoff {
    private static final double FIRST_SECONDS = 0.5;
    private static final double LONGEST_SECONDS = 60.0;
    private static final double LONGEST_RETRY_AFTER_SECONDS = 3600.0;
    private static final int DOUBLINGS = 10;

    private Backoff() {}

    /**
     * The wait after so many failed attempts (1 or more): doubling from half a second, at most 60 s. {@code dice} of
     * [0, 1) takes away up to half, so that a fleet does not come back in one instant.
     */
    public static double seconds(int attempts, double dice) {
        double full = Math.min(LONGEST_SECONDS, FIRST_SECONDS * Math.pow(2, Math.min(attempts - 1, DOUBLINGS)));
        return full * (1 - dice / 2);
    }

    /** The wait before the next attempt: never shorter than Retry-After, else the back-off. */
    public static double waitSeconds(int attempts, double dice, Answer answer) {
        Double wanted = answer == null ? null : retryAfterSeconds(answer);
        return wanted == null ? seconds(attempts, dice) : wanted + dice * Math.min(1, wanted / 10);
    }

    /** The seconds that Retry-After asks for, null without; a date is measured against the answer's own Date. */
    public static Double retryAfterSeconds(Answer answer) {
        String text = answer.header("retry-after");
        if (text == null) {
            return null;
        }
        Double seconds = Wire.number(text);
        if (seconds == null) {
            ZonedDateTime wanted = moment(text);
            ZonedDateTime sent = moment(answer.header("date"));
            if (wanted == null || sent == null) {
                return null;
            }
            seconds = Duration.between(sent, wanted).toMillis() / 1000.0;
        }
        return seconds < 0 ? null : Double.valueOf(Math.min(seconds, LONGEST_RETRY_AFTER_SECONDS));
    }

    private static ZonedDateTime moment(String text) {
        try {
            return text == null ? null : ZonedDateTime.parse(text.strip(), DateTimeFormatter.RFC_1123_DATE_TIME);
        } catch (DateTimeParseException problem) {
            return null;
        }
    }
}
