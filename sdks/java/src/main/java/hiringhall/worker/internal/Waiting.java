package hiringhall.worker.internal;

/** Waiting that an interruption does not shorten; it is kept for who looks afterwards. */
final class Waiting {
    private static final double LONGEST_SECONDS = 1e9;

    /** Waits so many nanoseconds at most, and says whether it was worth it. */
    interface Attempt {
        boolean upTo(long nanos) throws InterruptedException;
    }

    private Waiting() {}

    static long nanos(double seconds) {
        return (long) (Math.max(0, Math.min(seconds, LONGEST_SECONDS)) * 1e9);
    }

    static boolean uninterrupted(double seconds, Attempt attempt) {
        long end = System.nanoTime() + nanos(seconds);
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return attempt.upTo(Math.max(0, end - System.nanoTime()));
                } catch (InterruptedException problem) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
