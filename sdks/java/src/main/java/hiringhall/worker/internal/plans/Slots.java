package hiringhall.worker.internal.plans;

import hiringhall.worker.PlanWorker;
import hiringhall.worker.Release;
import hiringhall.worker.internal.Cancellation;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/** As many threads as tasks may run at once. Each runs a handler and tells the hall how it ended. */
final class Slots {
    /** How a handler ended, as it is told to the hall. */
    private record Outcome(Verb verb, String reason) {}

    private final Shift shift;
    private final PlanWorker.Handler handler;
    private final Deque<Hold> waiting = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private boolean dismissed;

    Slots(Shift shift, PlanWorker.Handler handler) {
        this.shift = shift;
        this.handler = handler;
        for (int count = 1; count <= shift.rules.concurrency(); count++) {
            threads.add(Threads.guarded("slot-" + count, this::run, shift::crash));
        }
    }

    void start() {
        threads.forEach(Thread::start);
    }

    void put(Hold hold) {
        shift.changed.change(() -> waiting.add(hold));
    }

    /** Let the threads end, each after what it does now. */
    void dismiss(double seconds) {
        shift.changed.change(() -> dismissed = true);
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        threads.forEach(thread -> Threads.join(thread, (deadline - System.nanoTime()) / 1e9));
    }

    private Hold next() {
        return shift.changed.with(() -> {
            shift.changed.waitFor(() -> dismissed || !waiting.isEmpty());
            return dismissed ? null : waiting.poll();
        });
    }

    private void run() {
        Connection connection = new Connection(shift.address);
        for (Hold hold = next(); hold != null; hold = next()) {
            try {
                Outcome outcome = outcome(hold);
                shift.settle(hold, outcome.verb, outcome.reason, connection);
            } finally {
                forget(hold);
            }
        }
        connection.close();
    }

    private void forget(Hold hold) {
        shift.changed.change(() -> {
            shift.session.forget(hold);
            shift.tasks.remove(hold);
        });
    }

    private Outcome outcome(Hold hold) {
        HeldTask task = shift.changed.with(() -> shift.tasks.get(hold));
        try {
            handler.handle(task);
        } catch (Release release) {
            return new Outcome(Verb.RELEASE, release.getMessage());
        } catch (Throwable problem) {
            if (!task.isCancelled()) {
                Log.warning(hold + " failed", problem);
            }
            return new Outcome(Verb.FAIL, Cancellation.reasonOf(problem));
        } finally {
            Thread.interrupted(); // what interrupted the handler was meant for the handler
        }
        return new Outcome(Verb.COMPLETE, null);
    }
}
