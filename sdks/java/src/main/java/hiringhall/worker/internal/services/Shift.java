package hiringhall.worker.internal.services;

import hiringhall.worker.SupersededException;
import hiringhall.worker.UnauthorizedException;
import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Cue;
import hiringhall.worker.internal.Keeper;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Monitor;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Run;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.DoublePredicate;
import java.util.function.Predicate;

/**
 * One run of a service worker: what its threads share, and the orderly end. {@code changed} guards the session, the
 * calls and the error. {@code stop} says that nothing new is taken; {@code ended} says that nothing more is sent.
 */
public final class Shift implements Run {
    private static final double PARKED_DRAIN_SECONDS = 0.3;
    private static final double ABORTED_DRAIN_SECONDS = 0.1;
    private static final double LAST_WORDS_SECONDS = 1.2;
    private static final double LAST_RETRY_SECONDS = 0.5;
    private static final double LAST_FEEDBACK_SECONDS = 0.5;
    private static final double THREADS_SECONDS = 0.2;

    final Session session;
    final Address address;
    final Methods methods;
    final Rules rules;
    final Probe probe;
    final Monitor changed = new Monitor();
    final Cue stop = new Cue();
    final Cue ended = new Cue();
    final Map<Hold, RunningCall> calls = new LinkedHashMap<>();
    final Feed feed;
    final Slots slots;
    private final Keeper keeper;
    private final Drainer drainer;
    private final Heart heart;
    private boolean asked;
    private Throwable error;

    /** A run; {@code probe} is null for an Eager worker. */
    public Shift(Session session, Address address, Keeper keeper, Methods methods, Rules rules, Probe probe) {
        this.session = session;
        this.address = address;
        this.keeper = keeper;
        this.methods = methods;
        this.rules = rules;
        this.probe = probe;
        this.feed = new Feed(this);
        this.slots = new Slots(this);
        this.drainer = new Drainer(this);
        this.heart = new Heart(this);
    }

    @Override
    public void work() throws Throwable {
        try {
            drainer.start();
            heart.start();
            feed.start();
            if (probe != null) {
                probe.start(drainer::pull);
            }
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
            Step step = keeper.ready();
            if (step instanceof Step.Done) {
                String token = keeper.token();
                Request request = changed.with(() -> errand.request(token));
                Reply reply = connection.exchange(request);
                step = changed.with(() -> received(errand, reply));
                if (step instanceof Step.Renew renew) {
                    keeper.refuse(token, renew.logIn());
                    continue;
                }
            }
            if (step instanceof Step.Crash crash) {
                crash(crash.error());
            }
            if (!(step instanceof Step.Again again)) {
                return step;
            }
            Log.say(stop.given() || again.afterSeconds() == 0 || again.why().equals(Keeper.WAITING), String.format(
                    Locale.ROOT,
                    "%s: %s; again in %.1f s", errand.verb.word(), again.why(), again.afterSeconds()));
            if (!patience.test(again.afterSeconds())) {
                return step;
            }
        }
    }

    private Step received(Errand errand, Reply reply) {
        Step step = errand.receive(reply, ThreadLocalRandom.current().nextDouble());
        calls.forEach((hold, call) -> {
            if (hold.cancelled && call.cancel()) {
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

    /** Wait before another attempt to say something; false once nothing more is sent. */
    boolean patient(double seconds) {
        return !ended.await(seconds);
    }

    /** Wait before another attempt to answer a call: also while the run ends, and then more often. */
    boolean persistent(double seconds) {
        if (!stop.given()) {
            stop.await(seconds);
            return !ended.given();
        }
        return !ended.await(Math.min(seconds, LAST_RETRY_SECONDS));
    }

    private void windDown() {
        changed.change(stop::give);
        if (probe != null) {
            probe.close(THREADS_SECONDS);
        }
        drainer.end(PARKED_DRAIN_SECONDS, ABORTED_DRAIN_SECONDS);
        boolean powerless = error instanceof UnauthorizedException || error instanceof SupersededException;
        if (!powerless) {
            sayGoodbye(hold -> !hold.begun);
        }
        changed.waitFor(() -> session.holds.isEmpty() || error != null, error == null ? rules.graceSeconds() : 0);
        // Before any method hears of it: what one says because it is told to stop is not its answer.
        boolean left = changed.with(() -> !giveBack(hold -> true).isEmpty());
        if (left && !powerless) {
            sayGoodbye(hold -> true);
        }
        changed.change(() -> calls.values().forEach(RunningCall::cancel));
        lastWords();
    }

    /** Take calls from the methods that run them, unless their answers are under way. */
    private List<Hold> giveBack(Predicate<Hold> which) {
        List<Hold> found = session.holds.values().stream().filter(which.and(hold -> !hold.answering)).toList();
        found.forEach(hold -> hold.givenBack = true);
        return found;
    }

    /** Tell the hall that nothing new is taken, and which calls it can give to others at once. */
    private void sayGoodbye(Predicate<Hold> which) {
        List<Hold> unstarted = changed.with(() -> giveBack(which));
        if (!changed.with(() -> session.registered)) {
            return;
        }
        Thread thread = Threads.guarded("goodbye", () -> goodbye(unstarted), this::crash);
        thread.start();
        Threads.join(thread, LAST_WORDS_SECONDS);
    }

    private void goodbye(List<Hold> unstarted) {
        Connection connection = new Connection(address);
        Step step = carryOut(new Errands.Goodbye(session, unstarted), connection, this::persistent);
        if (step instanceof Step.Skipped skipped) {
            Log.info("goodbye: " + skipped.why());
        }
        changed.change(() -> unstarted.forEach(session::forget));
        connection.close();
    }

    private void lastWords() {
        // Methods that heed their cancellation end here, and answers already under way still arrive.
        changed.waitFor(() -> session.holds.isEmpty() && calls.isEmpty(), LAST_WORDS_SECONDS);
        changed.change(() -> calls.keySet().forEach(hold -> Log.info(hold + " is still running and is left behind")));
        if (error == null) {
            feed.close(LAST_FEEDBACK_SECONDS);
        }
        changed.change(ended::give);
        feed.end(THREADS_SECONDS);
        heart.end(THREADS_SECONDS);
        keeper.abort();
        slots.close(THREADS_SECONDS);
    }
}
