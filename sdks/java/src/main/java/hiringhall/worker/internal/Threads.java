package hiringhall.worker.internal;

import java.util.function.Consumer;

/** Daemon threads whose death by a bug is not silent. */
public final class Threads {
    private static final String PREFIX = "hiringhall-";

    private Threads() {}

    /** A thread, not yet started; {@code crashed} hears of what ends it. */
    public static Thread guarded(String name, Runnable target, Consumer<Throwable> crashed) {
        Runnable guarded = () -> {
            try {
                target.run();
            } catch (Throwable problem) {
                crashed.accept(problem);
            }
        };
        Thread thread = new Thread(guarded, PREFIX + name);
        thread.setDaemon(true);
        return thread;
    }

    /** Wait for the end of a thread, at most so many seconds. */
    public static void join(Thread thread, double seconds) {
        Waiting.uninterrupted(seconds, nanos -> {
            if (nanos > 0) {
                thread.join(nanos / 1_000_000, (int) (nanos % 1_000_000));
            }
            return true;
        });
    }

    /** Do nothing for so many seconds. */
    public static void pause(double seconds) {
        Waiting.uninterrupted(seconds, nanos -> {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
            return true;
        });
    }
}
