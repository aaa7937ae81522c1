package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;

/** Beats in a thread of its own, so that no method delays it, and registers anew if the hall asks who this is. */
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

    private void run() {
        shift.changed.waitFor(() -> shift.ended.given() || shift.session.registered);
        while (shift.patient(shift.changed.with(shift.session::beatSeconds))) {
            Step step = shift.carryOut(new Errands.Heartbeat(shift.session), connection, shift::patient);
            if (step instanceof Step.Crash) {
                break;
            }
            if (step instanceof Step.Unregistered && !shift.stop.given()) {
                Log.warning("the hall no longer knows this worker; registering anew");
                shift.carryOut(new Errands.Register(shift.session), connection, shift::patient);
            }
        }
        connection.close();
    }
}
