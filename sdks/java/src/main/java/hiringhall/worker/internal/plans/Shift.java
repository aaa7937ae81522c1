package hiringhall.worker.internal.plans;

import hiringhall.worker.PlanWorker;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Cue;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Monitor;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Run;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoublePredicate;

/**
 * One run of a plan worker: what its threads share, and the orderly end. {@code changed} guards the session, the tasks
 * and the error. {@code stop} says that nothing new is taken; {@code ended} says that nothing more is sent.
 */
public final class Shift implements Run {
    // The end of a run takes at most the sum of these, after the grace.
    private static final double PARKED_CLAIM_SECONDS = 0.3;
    private static final double ABORTED_CLAIM_SECONDS = 0.1;
    private static final double LAST_WORDS_SECONDS = 1.2;
    private static final double LAST_RETRY_SECONDS = 0.5;
    private static final double THREADS_SECONDS = 0.2;
    private static final int RELEASE_CONNECTIONS = 8;
    private static final String SHUTDOWN_REASON = "shutdown";

    final Session session;
    final Address address;
    final Rules rules;
    final Monitor changed = new Monitor();
    final Cue stop = new Cue();
    final Cue ended = new Cue();
    final Map<Hold, HeldTask> tasks = new LinkedHashMap<>();
    private final Slots slots;
    private final Claimer claimer;
    private final Heart heart;
    private boolean asked;
    private Throwable error;

    public Shift(Session session, Address address, PlanWorker.Handler handler, Rules rules) {
        this.session = session;
        this.address = address;
        this.rules = rules;
        this.slots = new Slots(this, handler);
        this.claimer = new Claimer(this);
        this.heart = new Heart(this);
    }

    @Override
    public void work() throws Throwable {
        try {
            slots.start();
            claimer.start();
            heart.start();
            changed.waitInterruptibly(() -> asked || error != null || session.terminated);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            windDown();
        }
        if (error != null) {
            throw error;
        }
    }

    @Override
    public void finish() {
        changed.change(() -> asked = true);
    }

    /** Send an errand's request until it is settled. {@code patience} waits, and says whether to try again. */
    Step carryOut(Errand errand, Connection connection, DoublePredicate patience) {
        while (true) {
            Request request = changed.with(errand::request);
            Reply reply = connection.exchange(request);
            Step step = changed.with(() -> received(errand, reply));
            if (step instanceof Step.Crash crash) {
                crash(crash.error());
            }
            if (!(step instanceof Step.Again again)) {
                return step;
            }
            Log.say(stop.given(), String.format(
                    Locale.ROOT,
                    "%s: %s; again in %.1f s", request.verb(), again.why(), again.afterSeconds()));
            if (!patience.test(again.afterSeconds())) {
                return step;
            }
        }
    }

    private Step received(Errand errand, Reply reply) {
        Step step = errand.receive(reply, ThreadLocalRandom.current().nextDouble());
        tasks.forEach((hold, task) -> {
            if (hold.cancelled && task.cancel()) {
                Log.info(hold + " is cancelled by the hall");
            }
        });
        changed.ring();
        return step;
    }

    /** End the run with an error; the first one counts. */
    void crash(Throwable problem) {
        changed.change(() -> {
            if (error == null && !ended.given()) {
                error = problem;
            }
        });
    }

    /** Wait before another attempt to get something new; false once nothing new is taken. */
    boolean hopeful(double seconds) {
        return !stop.await(seconds);
    }

    /** Wait before another attempt to say how a task ended: also while the run ends, and then more often. */
    boolean persistent(double seconds) {
        if (!stop.given()) {
            stop.await(seconds);
            return !ended.given();
        }
        return !ended.await(Math.min(seconds, LAST_RETRY_SECONDS));
    }

    /** Give a task to a free slot; at the end of the run, give it back instead. */
    void begin(Hold hold) {
        boolean stopped = changed.with(() -> {
            if (!stop.given()) {
                tasks.put(hold, new HeldTask(hold));
            }
            return stop.given();
        });
        if (stopped) {
            giveBack(List.of(hold));
        } else {
            slots.put(hold);
        }
    }

    /** Tell the hall how a hold ended, until it has answered. */
    void settle(Hold hold, Verb verb, String reason, Connection connection) {
        if (changed.with(() -> session.beginToEnd(hold))) {
            tell(new Settle(session, hold, verb, reason), connection);
        } else {
            Log.info(hold + " was given back before its handler ended; the result is dropped");
        }
    }

    private void tell(Settle errand, Connection connection) {
        String what = errand.verb.word() + " of " + errand.hold;
        Step step = carryOut(errand, connection, this::persistent);
        if (step instanceof Step.Skipped skipped) {
            Log.say(skipped.expected() || errand.verb == Verb.RELEASE, what + " skipped: " + skipped.why());
        } else if (step instanceof Step.Again again) {
            Log.warning(what + " could not be said before the end: " + again.why());
        } else if (!(step instanceof Step.Crash)) {
            Log.info(what);
        }
    }

    /** Release holds, a few at a time, in threads of their own. */
    private List<Thread> giveBack(Collection<Hold> holds) {
        Deque<Settle> left = new ArrayDeque<>();
        changed.change(() -> {
            for (Hold hold : holds) {
                if (session.beginToEnd(hold)) {
                    left.add(new Settle(session, hold, Verb.RELEASE, SHUTDOWN_REASON));
                }
                if (tasks.containsKey(hold)) {
                    tasks.get(hold).cancel();
                }
            }
        });
        List<Thread> threads = new ArrayList<>();
        for (int count = Math.min(left.size(), RELEASE_CONNECTIONS); count > 0; count--) {
            threads.add(Threads.guarded("release", () -> release(left), this::crash));
        }
        threads.forEach(Thread::start);
        return threads;
    }

    private void release(Deque<Settle> left) {
        Connection connection = new Connection(address);
        for (Settle errand = changed.with(left::poll); errand != null; errand = changed.with(left::poll)) {
            tell(errand, connection);
        }
        connection.close();
    }

    /** End the parked claim, so that the next one is made with what is known now. */
    void interruptClaim() {
        claimer.connection.interrupt();
    }

    private void windDown() {
        changed.change(stop::give);
        claimer.connection.interrupt();
        claimer.join(PARKED_CLAIM_SECONDS);
        claimer.connection.abort();
        claimer.join(ABORTED_CLAIM_SECONDS);
        changed.waitFor(() -> tasks.isEmpty() || error != null, error == null ? rules.graceSeconds() : 0);
        long deadline = System.nanoTime() + (long) (LAST_WORDS_SECONDS * 1e9);
        List<Thread> threads = changed.with(() -> {
            // Before any handler hears of it: one that returns because it is told to stop has completed nothing.
            List<Hold> left = session.holds.values().stream().filter(hold -> !hold.settling).toList();
            List<Thread> begun = error instanceof UnauthorizedException ? List.of() : giveBack(left);
            tasks.values().forEach(HeldTask::cancel);
            return begun;
        });
        threads.forEach(thread -> Threads.join(thread, left(deadline)));
        // Handlers that heed their cancellation end here, and results already under way still arrive.
        changed.waitFor(tasks::isEmpty, left(deadline));
        changed.change(() -> {
            tasks.keySet().forEach(hold -> Log.info(hold + ": its handler is still running and is left behind"));
            ended.give();
        });
        heart.end(THREADS_SECONDS);
        slots.dismiss(THREADS_SECONDS);
    }

    private static double left(long deadline) {
        return Math.max(0, (deadline - System.nanoTime()) / 1e9);
    }
}
