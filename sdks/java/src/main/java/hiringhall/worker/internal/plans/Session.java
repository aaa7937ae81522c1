package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Directive;
import hiringhall.worker.internal.Wire;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a plan worker knows while it runs: who it is, what it holds, and what the hall has asked of it. Nothing here
 * touches a socket, a clock or a thread; the owner of a session serialises all calls on it and on its errands.
 */
public final class Session {
    // How often a quiet worker asks whether it still is.
    private static final double QUIET_BEAT_SECONDS = 5;

    final Terms terms;
    final Supplier<String> newKey;
    final Map<Hold.Key, Hold> holds = new LinkedHashMap<>();
    Identity identity;
    boolean quiet;
    boolean terminated;
    // Whether the hall is known to know the identity: one that did not register is introduced by its first claim.
    boolean introduced;
    private Double toldBeatSeconds;

    public Session(Terms terms, Supplier<String> newKey, Identity identity) {
        this.terms = terms;
        this.newKey = newKey;
        this.identity = identity;
    }

    /** Take the right to complete, fail or release a hold; false if somebody has it already. */
    boolean beginToEnd(Hold hold) {
        boolean mine = !hold.settling;
        hold.settling = true;
        return mine;
    }

    void forget(Hold hold) {
        holds.remove(hold.key(), hold);
    }

    /** The value of {@code Hall-Holding} for an identity. */
    String holding(Identity whose) {
        return holds.values().stream()
                .filter(hold -> hold.identity.equals(whose))
                .map(Hold::named)
                .collect(Collectors.joining(","));
    }

    /** The time between two heartbeats: the worker's own setting, or what the hall said if that is less. */
    double beatSeconds() {
        double usual = toldBeatSeconds == null
                ? terms.heartbeatSeconds() : Math.min(terms.heartbeatSeconds(), toldBeatSeconds);
        return quiet ? Math.min(usual, QUIET_BEAT_SECONDS) : usual;
    }

    /** Take in how far apart the hall wants heartbeats. An answer that does not say leaves it as it was said. */
    void hearInterval(Answer answer) {
        Double told = Wire.interval(answer.header("hall-heartbeat"));
        if (told != null) {
            toldBeatSeconds = told;
        }
    }

    /** Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy. */
    void hear(Identity whose, Answer answer) {
        if (!whose.equals(identity) || !(answer.successful() || answer.status() == 409)) {
            return;
        }
        Directive asked = Directive.of(answer.header("hall-directive"));
        quiet = asked.quiet();
        terminated |= asked.terminate();
        for (Hold hold : holds.values()) {
            if (hold.identity.equals(whose)
                    && asked.cancelledTasks().contains(new Directive.TaskName(hold.planId, hold.taskId))) {
                hold.cancelled = true;
            }
        }
    }
}
