package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;

/**
 * Registers, then claims whenever a slot is free. One claim is parked however many slots are free: as soon as it brings
 * a task, a slot takes the task over and the next claim goes out, so no task is ever claimed without a free slot.
 */
final class Claimer {
    // After a claim that brought something unusable.
    private static final double PAUSE_SECONDS = 0.5;

    final Connection connection;
    private final Shift shift;
    private final Thread thread;

    Claimer(Shift shift) {
        this.shift = shift;
        this.connection = new Connection(shift.address);
        this.thread = Threads.guarded("claim", this::run, shift::crash);
    }

    void start() {
        thread.start();
    }

    void join(double seconds) {
        Threads.join(thread, seconds);
    }

    private void run() {
        if (registered()) {
            while (slotFree() && claim()) {
                // until nothing new is taken
            }
        }
        connection.close();
    }

    private boolean registered() {
        if (shift.changed.with(() -> shift.session.identity != null)) {
            return true;
        }
        if (!(shift.carryOut(new Register(shift.session), connection, shift::hopeful) instanceof Step.Done)) {
            return false;
        }
        Log.info("registered as " + shift.session.identity);
        return true;
    }

    /** Wait until a task could be started; false once nothing new is taken. */
    private boolean slotFree() {
        shift.changed.waitFor(() -> shift.stop.given()
                || (!shift.session.quiet && shift.tasks.size() < shift.rules.concurrency()));
        return !shift.stop.given();
    }

    /** Claim once; false ends the claiming. */
    private boolean claim() {
        boolean idle = shift.changed.with(shift.tasks::isEmpty);
        Claim errand = shift.changed.with(() -> new Claim(shift.session));
        Step step = shift.carryOut(errand, connection, shift::hopeful);
        if (step instanceof Errand.Got got) {
            Log.info("claimed " + got.hold());
            shift.begin(got.hold());
            return !shift.rules.once() || !finishedWhenIdle();
        }
        if (step instanceof Errand.Empty) {
            boolean over = shift.rules.untilEmpty() && idle && !shift.session.quiet;
            if (over) {
                shift.finish();
            }
            return !over;
        }
        if (step instanceof Step.Skipped skipped) {
            if (skipped.expected()) {
                return true;
            }
            Log.warning("claim: " + skipped.why());
            return shift.hopeful(PAUSE_SECONDS);
        }
        return false;
    }

    private boolean finishedWhenIdle() {
        shift.changed.waitFor(() -> shift.stop.given() || shift.tasks.isEmpty());
        shift.finish();
        return true;
    }
}
