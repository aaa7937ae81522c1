package hiringhall.worker.internal;

import hiringhall.worker.HallException;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The runs of one worker, one at a time, and how other threads end them. */
public final class Runner implements AutoCloseable {
    private final String name;
    private final Object guard = new Object();
    private Run present;
    private boolean running;
    private boolean asked;
    private boolean closed;

    public Runner(String name) {
        this.name = name;
    }

    /** Run in this thread until the end; signals end it as well. */
    public void run(Supplier<Run> maker) {
        begin();
        work(maker, true);
    }

    /** Run in a thread of its own, which leaves signals to whoever has it run. */
    public CompletableFuture<Void> start(Supplier<Run> maker) {
        begin();
        CompletableFuture<Void> over = new CompletableFuture<>();
        Threads.guarded("run", () -> {
            work(maker, false);
            over.complete(null);
        }, over::completeExceptionally).start();
        return over;
    }

    /** End the run; from any thread, at once. */
    public void stop() {
        synchronized (guard) {
            asked = true;
            if (present != null) {
                present.finish();
            }
        }
    }

    /** End the run, wait for its end, and let no other begin. */
    @Override
    public void close() {
        stop();
        boolean interrupted = false;
        synchronized (guard) {
            closed = true;
            while (running) {
                try {
                    guard.wait();
                } catch (InterruptedException problem) {
                    interrupted = true;
                }
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void workUntilSignalled(Run run) throws Throwable {
        Signals signals = new Signals(this::stop);
        try {
            run.work();
        } finally {
            signals.close();
        }
    }

    private void begin() {
        synchronized (guard) {
            if (closed || running) {
                throw new IllegalStateException(closed
                        ? "this worker is closed" : "this worker is running already; make another " + name);
            }
            running = true;
        }
    }

    private void work(Supplier<Run> maker, boolean withSignals) {
        try {
            Run run = maker.get();
            synchronized (guard) {
                present = run;
                if (asked) {
                    run.finish();
                }
            }
            if (withSignals) {
                workUntilSignalled(run);
            } else {
                run.work();
            }
        } catch (RuntimeException | Error problem) {
            throw problem;
        } catch (Throwable problem) {
            throw new HallException(problem.toString());
        } finally {
            synchronized (guard) {
                present = null;
                running = false;
                asked = false;
                guard.notifyAll();
            }
        }
    }
}
