package hiringhall.worker.internal;

import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/** One run of a function of the user, and telling it that its result is no longer wanted. */
public class Cancellation {
    private final Cue cancelled = new Cue();
    private final CompletableFuture<Void> stage = new CompletableFuture<>();
    private volatile CompletableFuture<?> underWay;

    /** What the function ends with, also if it answers with a stage; what it throws comes out. */
    public static Object ended(Object result, Cancellation cancellation) throws Exception {
        if (!(result instanceof CompletionStage<?> later)) {
            return result;
        }
        CompletableFuture<?> future = later.toCompletableFuture();
        cancellation.underWay = future;
        if (cancellation.isCancelled()) {
            future.cancel(true);
        }
        try {
            return future.join();
        } catch (CompletionException | CancellationException problem) {
            throw problem.getCause() instanceof Exception cause ? cause : problem;
        }
    }

    /** Tell the function to stop; whether it had not been told before. */
    public boolean cancel() {
        if (cancelled.given()) {
            return false;
        }
        cancelled.give();
        CompletableFuture<?> future = underWay;
        // Not in this thread: what the user hung on it is of unknown length.
        Thread told = Threads.guarded("cancelled", () -> {
            stage.complete(null);
            if (future != null) {
                future.cancel(true);
            }
        }, problem -> Log.warning("what a cancellation calls has failed", problem));
        told.start();
        return true;
    }

    public boolean isCancelled() {
        return cancelled.given();
    }

    public boolean awaitCancellation(Duration most) {
        return cancelled.await(most.toNanos() / 1e9);
    }

    public CompletionStage<Void> cancellation() {
        return stage.minimalCompletionStage();
    }

    /** The text of an exception, as the reason of a failure; its type's name where the text says nothing by itself. */
    public static String reasonOf(Throwable problem) {
        String text = problem.getMessage();
        return text == null || text.isBlank() ? problem.getClass().getSimpleName() : text;
    }
}
