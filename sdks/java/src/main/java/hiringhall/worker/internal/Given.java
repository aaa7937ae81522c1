package hiringhall.worker.internal;

import java.time.Duration;

/** Settings as they are given, checked: what is wrong is an IllegalArgumentException that names the setting. */
public final class Given {
    public static final String DEFAULT_SERVER = "http://127.0.0.1:8400";
    public static final Duration LONGEST_HOLD = Duration.ofSeconds(55);
    private static final Duration FOR_EVER = Duration.ofDays(36500);

    private Given() {}

    /** A variable of the environment without the space around it; empty if it is not set. */
    public static String variable(String name) {
        String value = System.getenv(name);
        return value == null ? "" : value.strip();
    }

    /** The hall's address. */
    public static String server(String given) {
        if (given != null) {
            return given;
        }
        String told = variable("HALL_SERVER");
        return told.isEmpty() ? DEFAULT_SERVER : told;
    }

    /** A name that may not be empty. */
    public static String name(String setting, String given, String advice) {
        if (given == null || given.isEmpty()) {
            throw new IllegalArgumentException(setting + ": " + advice);
        }
        return given;
    }

    /** How many at once. */
    public static int width(String setting, int value, int most) {
        if (value < 1 || value > most) {
            throw new IllegalArgumentException(setting + ": a whole number of at least 1 and at most " + most);
        }
        return value;
    }

    /** A token as given, else from the environment, where a server in rotation may have two, comma-separated. */
    public static String token(String setting, String given, String variable) {
        String text = (given == null ? variable(variable).split(",", -1)[0] : given).strip();
        if (text.isEmpty() && given == null) {
            return null;
        }
        if (!Wire.sendable(text)) {
            throw new IllegalArgumentException(
                    setting + ": a token is visible ASCII characters without spaces, and not empty");
        }
        return text;
    }

    /** A time of more than nothing. */
    public static double seconds(String setting, Duration value) {
        return seconds(setting, value, FOR_EVER);
    }

    /** A time of more than nothing, and at most so long. */
    public static double seconds(String setting, Duration value, Duration most) {
        if (value == null || value.isZero() || value.isNegative() || value.compareTo(most) > 0) {
            throw new IllegalArgumentException(
                    setting + ": a time of more than 0" + (most.equals(FOR_EVER) ? "" : " and at most " + most));
        }
        return value.toNanos() / 1e9;
    }

    /** A time that may be nothing at all. */
    public static double patience(String setting, Duration value) {
        if (value == null || value.isNegative() || value.compareTo(FOR_EVER) > 0) {
            throw new IllegalArgumentException(setting + ": a time of at least 0");
        }
        return value.toNanos() / 1e9;
    }
}
