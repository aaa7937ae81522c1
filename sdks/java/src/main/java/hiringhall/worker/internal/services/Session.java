package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Directive;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Wire;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * What a service worker knows while it runs: what it holds, and what the hall has asked of it. Nothing here touches a
 * socket, a clock or a thread; the owner of a session serialises all calls on it and on its errands.
 */
public final class Session {
    // How often a quiet worker asks whether it still is.
    private static final double QUIET_BEAT_SECONDS = 5;
    private static final double USUAL_BEAT_SECONDS = 30;
    private static final int LONGEST_HEADER = 32 * 1024;
    private static final Header[] NOTHING = {};

    final Terms terms;
    final Supplier<String> newKey;
    final Map<String, Hold> holds = new LinkedHashMap<>();
    volatile Map<String, String> settings = Map.of();
    boolean registered;
    boolean quiet;
    boolean terminated;
    Double toldBeatSeconds;

    public Session(Terms terms, Supplier<String> newKey) {
        this.terms = terms;
        this.newKey = newKey;
    }

    /** The service's settings, as the hall told them; empty before. */
    public Map<String, String> settings() {
        return settings;
    }

    void forget(Hold hold) {
        holds.remove(hold.requestId, hold);
    }

    /** The header {@code Hall-Holding}: the request ids of everything held. Left out if no server would take it. */
    Header[] holding() {
        String text = holds.keySet().stream().map(Wire::part).collect(Collectors.joining(","));
        return text.length() <= LONGEST_HEADER ? new Header[] {new Header("Hall-Holding", text)} : NOTHING;
    }

    /** The time between two heartbeats: the worker's own setting, or what the hall said if that is less. */
    double beatSeconds() {
        double own = terms.heartbeatSeconds() == null ? Double.POSITIVE_INFINITY : terms.heartbeatSeconds();
        double told = toldBeatSeconds == null ? Double.POSITIVE_INFINITY : toldBeatSeconds;
        double usual = Math.min(own, told);
        usual = Double.isInfinite(usual) ? USUAL_BEAT_SECONDS : usual;
        return quiet ? Math.min(usual, QUIET_BEAT_SECONDS) : usual;
    }

    /** Take in what the hall asks of the worker. Only the hall's own answers count, not those of a proxy. */
    void hear(Answer answer) {
        if (!(answer.successful() || answer.status() == 409)) {
            return;
        }
        Directive asked = Directive.of(answer.header("hall-directive"));
        quiet = asked.quiet();
        terminated |= asked.terminate();
        for (String id : asked.cancelledCalls()) {
            if (holds.containsKey(id)) {
                holds.get(id).cancelled = true;
            }
        }
    }
}
