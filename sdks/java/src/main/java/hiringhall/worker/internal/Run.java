package hiringhall.worker.internal;

/** One run of a worker. */
public interface Run {
    /** Run until a reason to end; a reason to crash is thrown. */
    void work() throws Throwable;

    /** End the run; from any thread, at once. */
    void finish();
}
