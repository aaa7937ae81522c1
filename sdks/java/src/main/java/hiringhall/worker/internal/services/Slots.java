package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** Threads that run methods and answer for them: as many as calls were here at once, at most the concurrency. */
final class Slots {
    private static final int LOCK_ATTEMPTS = 4;
    // How long an answer waits for the feedback that came before it; the hall takes none after the answer.
    private static final double FEEDBACK_FIRST_SECONDS = 1;

    private final Shift shift;
    private final Deque<Hold> waiting = new ArrayDeque<>();
    private final List<Thread> threads = new ArrayList<>();
    private int idle;
    private boolean closed;

    Slots(Shift shift) {
        this.shift = shift;
    }

    /** Have these calls run, in this order. */
    void put(List<Hold> holds) {
        shift.changed.change(() -> {
            waiting.addAll(holds);
            int wanted = Math.min(waiting.size() - idle, shift.rules.concurrency() - threads.size());
            for (; wanted > 0; wanted--) {
                Thread thread = Threads.guarded("slot-" + (threads.size() + 1), this::run, shift::crash);
                threads.add(thread);
                thread.start();
            }
        });
    }

    /** Let the threads end, each after what it does now. */
    void close(double seconds) {
        shift.changed.change(() -> closed = true);
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        List.copyOf(threads).forEach(thread -> Threads.join(thread, (deadline - System.nanoTime()) / 1e9));
    }

    private Hold next() {
        return shift.changed.with(() -> {
            idle++;
            shift.changed.waitFor(() -> closed || !waiting.isEmpty());
            idle--;
            Hold hold = closed ? null : waiting.poll();
            if (hold != null) {
                hold.begun = !hold.givenBack;
            }
            return hold;
        });
    }

    private void run() {
        Connection connection = new Connection(shift.address);
        for (Hold hold = next(); hold != null; hold = next()) {
            try {
                if (hold.begun && (!hold.lockRequired || locked(hold, connection))) {
                    answer(hold, outcome(hold), connection);
                }
            } finally {
                forget(hold);
            }
        }
        connection.close();
    }

    private void forget(Hold hold) {
        shift.changed.change(() -> {
            shift.session.forget(hold);
            shift.calls.remove(hold);
        });
    }

    private boolean locked(Hold hold, Connection connection) {
        AtomicInteger left = new AtomicInteger(LOCK_ATTEMPTS - 1);
        Step step = shift.carryOut(new Errands.Lock(shift.session, hold), connection,
                seconds -> left.getAndDecrement() > 0 && shift.patient(seconds));
        if (step instanceof Step.Skipped skipped) {
            Log.info(hold + " is another worker's: " + skipped.why());
        }
        return step instanceof Step.Done;
    }

    private Outcome outcome(Hold hold) {
        RunningCall call = new RunningCall(shift.session, hold, shift.feed::say);
        boolean wanted = shift.changed.with(() -> {
            if (!hold.cancelled) {
                shift.calls.put(hold, call);
            }
            return !hold.cancelled;
        });
        return wanted ? shift.methods.outcome(call, hold.params)
                : Outcome.failed(call.service() + "/" + hold.method + ": cancelled");
    }

    private void answer(Hold hold, Outcome told, Connection connection) {
        shift.feed.flush(hold.requestId, FEEDBACK_FIRST_SECONDS);
        Errands.Respond errand = shift.changed.with(() -> {
            hold.answering = !hold.givenBack;
            return hold.answering ? new Errands.Respond(shift.session, hold, told) : null;
        });
        if (errand == null) {
            Log.info(hold + " was given back before its method ended; the answer is dropped");
            return;
        }
        Step step = shift.carryOut(errand, connection, shift::persistent);
        if (step instanceof Step.Skipped skipped) {
            Log.say(skipped.expected(), "answer of " + hold + " dropped: " + skipped.why());
        } else if (step instanceof Step.Again again) {
            Log.warning("answer of " + hold + " could not be given before the end: " + again.why());
        } else if (!(step instanceof Step.Crash)) {
            Log.info(told.status() + ": " + hold);
        }
    }
}
