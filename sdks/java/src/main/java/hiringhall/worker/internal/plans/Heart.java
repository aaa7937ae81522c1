package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;

/** Beats in a thread of its own, so that no handler delays it, and registers anew if the hall asks who this is. */
final class Heart {
    private final Shift shift;
    private final Connection connection;
    private final Thread thread;

    Heart(Shift shift) {
        this.shift = shift;
        this.connection = new Connection(shift.address);
        this.thread = Threads.guarded("heartbeat", this::run, shift::crash);
    }

    void start() {
        thread.start();
    }

    void end(double seconds) {
        connection.abort();
        Threads.join(thread, seconds);
    }

    private boolean patient(double seconds) {
        return !shift.ended.await(seconds);
    }

    private void run() {
        shift.changed.waitFor(() -> shift.ended.given() || shift.session.identity != null);
        // Registering tells how far apart the hall wants the beats; who did not register beats at once to hear it.
        boolean atOnce = shift.changed.with(() -> !shift.session.introduced);
        while ((atOnce || patient(shift.changed.with(shift.session::beatSeconds))) && !shift.ended.given()) {
            atOnce = false;
            boolean introduced = shift.changed.with(() -> shift.session.introduced); // as it was before the hall is asked
            Heartbeat errand = shift.changed.with(() -> new Heartbeat(shift.session));
            Step step = shift.carryOut(errand, connection, this::patient);
            if (step instanceof Step.Crash) {
                break;
            }
            if (step instanceof Step.Unregistered unregistered && introduced) {
                registerAnew(unregistered);
            }
        }
        connection.close();
    }

    private void registerAnew(Step.Unregistered step) {
        if (!step.canRegister()) {
            Log.warning("the hall does not know this worker id (any more); the next claim introduces it");
            return;
        }
        Log.warning("the hall no longer knows this worker; registering anew");
        if (shift.carryOut(new Register(shift.session), connection, this::patient) instanceof Step.Done) {
            Log.info("registered as " + shift.session.identity);
            shift.interruptClaim();
        }
    }
}
