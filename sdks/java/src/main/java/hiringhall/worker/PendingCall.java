package hiringhall.worker;

import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Wire;
import hiringhall.worker.internal.client.Wires;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;

/** One call that was made: wait for its end, listen to it, cancel it. For any thread. */
public final class PendingCall {
    static final double HOLD_SECONDS = 30;
    private static final double FOR_EVER_SECONDS = Double.POSITIVE_INFINITY;
    // The hall says something every 15 s; a stream that is silent for this long is dead.
    private static final double SILENCE_SECONDS = 45;
    private static final int CONFLICT = 409;
    private static final byte[] NO_BODY = {};

    private final Wires wires;
    private final Executor executor;
    private final String requestId;
    private final double answerSeconds;
    private volatile Outcome ended;

    PendingCall(Wires wires, Executor executor, String requestId, double answerSeconds) {
        this.wires = wires;
        this.executor = executor;
        this.requestId = requestId;
        this.answerSeconds = answerSeconds;
    }

    /**
     * Which call it is; {@link Client#pending} makes its handle anew.
     *
     * @return the request id
     */
    public String requestId() {
        return requestId;
    }

    /**
     * The result, when it is there.
     *
     * @return what the method returned
     * @throws CallFailedException if the call does not end with success
     */
    public Object result() {
        return resultWithin(FOR_EVER_SECONDS);
    }

    /**
     * The result, if it is there in time.
     *
     * @param most how long to wait for it
     * @return what the method returned
     * @throws CallFailedException if the call does not end with success
     * @throws CallPendingException if it has not ended in time; it lives on
     */
    public Object result(Duration most) {
        return resultWithin(most.toNanos() / 1e9);
    }

    Object resultWithin(double seconds) {
        double deadline = System.nanoTime() / 1e9 + seconds;
        while (true) {
            double left = Math.max(0, deadline - System.nanoTime() / 1e9);
            String status = look(Math.min(HOLD_SECONDS, left), left);
            if (ended != null) {
                return ended.result();
            }
            if (System.nanoTime() / 1e9 >= deadline) {
                throw new CallPendingException(this, status);
            }
        }
    }

    /**
     * The result, without a thread that waits for it here. Cancelling the future cancels the call.
     *
     * @return completes with what {@link #result()} returns or throws
     */
    public CompletableFuture<Object> future() {
        CompletableFuture<Object> future = new CompletableFuture<>();
        executor.execute(() -> complete(future));
        future.whenComplete((result, problem) -> {
            if (future.isCancelled()) {
                executor.execute(this::cancel);
            }
        });
        return future;
    }

    void complete(CompletableFuture<Object> future) {
        try {
            future.complete(result());
        } catch (RuntimeException problem) {
            future.completeExceptionally(problem);
        }
    }

    /**
     * How the call ended, however it did.
     *
     * @param most how long to wait for its end
     * @return the end, empty if it has not ended in time
     */
    public Optional<Outcome> outcome(Duration most) {
        try {
            result(most);
        } catch (CallFailedException | CallPendingException known) {
            // the end is there, or it is not
        }
        return Optional.ofNullable(ended);
    }

    /**
     * How the call stands.
     *
     * @return queued, offered, held or cancelling; success, failed, error, cancelled or expired once it has ended
     */
    public String status() {
        return look(0, FOR_EVER_SECONDS);
    }

    /**
     * Ask to cancel the call. If it has ended already this does nothing.
     *
     * @return {@code cancelled} if nobody had begun; {@code cancelling} if a worker has it, which is told; else how it
     *     had ended
     */
    public String cancel() {
        try {
            return keep(wires.answered(token -> request("DELETE", token, ""), FOR_EVER_SECONDS));
        } catch (RefusedException problem) {
            if (problem.status() != CONFLICT) {
                throw problem;
            }
            return status();
        }
    }

    /**
     * What the method says, as it comes, until the call has ended.
     *
     * @return a stream for one thread
     */
    public FeedbackStream feedback() {
        return new FeedbackStream(this, wires);
    }

    Outcome ended() {
        return ended;
    }

    /** Take in what the hall says of this call; its status. */
    String keep(Map<String, Object> members) {
        String status = members.get("status") instanceof String text ? text : "pending";
        if (Outcome.FINAL.contains(status)) {
            ended = new Outcome(requestId, members);
        }
        return status;
    }

    private String look(double waitSeconds, double mostSeconds) {
        if (ended != null) {
            return ended.status();
        }
        String query = waitSeconds > 0 ? "?wait=" + Wire.seconds(waitSeconds) : "";
        return keep(wires.answered(token -> request("GET", token, query, waitSeconds), mostSeconds));
    }

    private Request request(String method, String token, String rest) {
        return request(method, token, rest, 0);
    }

    private Request request(String method, String token, String rest, double waitSeconds) {
        return new Request(
                "follow", method, path() + rest, token, NO_BODY, waitSeconds + answerSeconds,
                new Header("Accept", "application/json"));
    }

    /** The request for what was said after an event. */
    Request following(String token, String lastId) {
        List<Header> headers = new ArrayList<>(List.of(new Header("Accept", "text/event-stream")));
        if (!lastId.isEmpty()) {
            headers.add(new Header("Last-Event-ID", lastId));
        }
        return new Request(
                "follow", "GET", path() + "/feedback", token, NO_BODY, SILENCE_SECONDS, headers.toArray(new Header[0]));
    }

    private String path() {
        return "/client/requests/" + Wire.part(requestId);
    }

    @Override
    public String toString() {
        return "PendingCall " + requestId;
    }
}
