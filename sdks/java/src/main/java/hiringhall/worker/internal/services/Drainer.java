package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;

/**
 * Registers, then drains whenever a slot is free: Eager all the time, Lazy when there is reason to. One drain is parked
 * however many slots are free, and asks for no more calls than there are slots.
 */
final class Drainer {
    // Before a worker registers again that the hall does not know.
    private static final double UNREGISTERED_SECONDS = 0.5;
    // A Lazy worker looks by itself this often, in case its wake-up port cannot be reached.
    private static final double LOOK_SECONDS = 30;

    private final Shift shift;
    private final Connection connection;
    private final Thread thread;
    private final boolean lazy;
    private boolean hungry = true;

    Drainer(Shift shift) {
        this.shift = shift;
        this.connection = new Connection(shift.address);
        this.thread = Threads.guarded("drain", this::run, shift::crash);
        this.lazy = shift.probe != null;
    }

    void start() {
        thread.start();
    }

    /** There is reason to drain. */
    void pull() {
        shift.changed.change(() -> hungry = true);
    }

    /** End a parked drain; calls that are already under way still arrive. */
    void end(double parkedSeconds, double abortedSeconds) {
        connection.interrupt();
        Threads.join(thread, parkedSeconds);
        connection.abort();
        Threads.join(thread, abortedSeconds);
    }

    private void run() {
        if (registered()) {
            Log.info("registered as " + shift.session.terms.service() + "/" + shift.session.terms.workerId());
            while (due() && drained()) {
                // until nothing new is taken
            }
        }
        connection.close();
    }

    private boolean registered() {
        Errands.Register errand = new Errands.Register(shift.session);
        return shift.carryOut(errand, connection, shift::hopeful) instanceof Step.Done;
    }

    /** Wait until a call could be started, and is worth asking for; false once nothing new is taken. */
    private boolean due() {
        long lookAt = System.nanoTime() + (long) (LOOK_SECONDS * 1e9);
        while (!shift.stop.given()) {
            boolean reason = shift.changed.waitFor(() -> shift.stop.given() || (ready() && (hungry || !lazy)),
                    lazy ? (lookAt - System.nanoTime()) / 1e9 : Double.POSITIVE_INFINITY);
            if (!reason) {
                shift.changed.waitFor(() -> shift.stop.given() || ready());
            }
            if (!shift.stop.given()) {
                shift.changed.change(() -> hungry = false);
                return true;
            }
        }
        return false;
    }

    private boolean ready() {
        return !shift.session.quiet && shift.session.holds.size() < shift.rules.concurrency();
    }

    /** Drain once; false ends the draining. */
    private boolean drained() {
        int spare = shift.changed.with(() -> shift.rules.concurrency() - shift.session.holds.size());
        Errands.Drain errand = new Errands.Drain(shift.session, Math.max(1, spare), !lazy);
        Step step = shift.carryOut(errand, connection, shift::hopeful);
        if (step instanceof Step.Unregistered) {
            Log.warning("the hall does not know this worker; registering");
            return shift.hopeful(UNREGISTERED_SECONDS) && registered();
        }
        if (!(step instanceof Errands.Drained drained)) {
            return false;
        }
        if (!drained.holds().isEmpty()) {
            pull();
            drained.holds().forEach(hold -> Log.info("got " + hold));
            shift.slots.put(drained.holds());
        }
        return true;
    }
}
