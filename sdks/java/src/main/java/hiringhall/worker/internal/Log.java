package hiringhall.worker.internal;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;

/** What is told to those who run a worker; never a token. */
public final class Log {
    private static final Logger LOGGER = System.getLogger("hiringhall.worker");

    private Log() {}

    public static void info(String text) {
        LOGGER.log(Level.INFO, text);
    }

    public static void warning(String text) {
        LOGGER.log(Level.WARNING, text);
    }

    public static void warning(String text, Throwable problem) {
        LOGGER.log(Level.WARNING, text, problem);
    }

    /** A warning, or only information where it is no surprise. */
    public static void say(boolean quietly, String text) {
        LOGGER.log(quietly ? Level.INFO : Level.WARNING, text);
    }
}
