package hiringhall.worker;

import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Given;
import hiringhall.worker.internal.Header;
import hiringhall.worker.internal.Keys;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Wire;
import hiringhall.worker.internal.client.Place;
import hiringhall.worker.internal.client.Wires;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import javax.net.ssl.SSLContext;

/**
 * Calls {@code service/method} and gets the answer. One object for all threads.
 *
 * <p>Every method may throw {@link UnauthorizedException}, {@link RefusedException} (with the hall's status and code)
 * and {@link UnreachableException}.
 */
public final class Client implements AutoCloseable {
    private static final double FOR_EVER_SECONDS = Double.POSITIVE_INFINITY;
    private static final double LEAST_HOLD_SECONDS = 0.001;
    private static final byte[] NO_BODY = {};

    private final Wires wires;
    private final double answerSeconds;
    private final ExecutorService executor = Executors.newCachedThreadPool(action -> {
        Thread thread = new Thread(action, "hiringhall-client");
        thread.setDaemon(true);
        return thread;
    });

    private Client(Builder made) {
        answerSeconds = Given.seconds("answer", made.answer);
        double patienceSeconds = Given.patience("patience", made.patience);
        Place place = Place.find(made.server, made.clientId, made.secret, made.token, answerSeconds);
        wires = new Wires(Address.of(place.server(), made.tls), place, patienceSeconds);
    }

    /**
     * A client whose settings come from the environment, or from a hall on this machine.
     *
     * @return the client
     * @throws IllegalArgumentException that says what is missing
     */
    public static Client connect() {
        return builder().build();
    }

    /**
     * Begin to make a client.
     *
     * @return what is set before {@link Builder#build}
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Call a method and wait for its result.
     *
     * @param method {@code service/method}
     * @param params what {@link Json} can write: a map or a record gives parameters by name, a list by position; null is
     *     none
     * @return the result, as {@link Json} reads it
     * @throws CallFailedException if the call does not end with success
     */
    public Object call(String method, Object params) {
        return called(method, params, FOR_EVER_SECONDS, CallOptions.none());
    }

    /**
     * Call a method and wait for its result, for a while.
     *
     * @param method {@code service/method}
     * @param params as above
     * @param timeout how long to wait
     * @return the result
     * @throws CallFailedException if the call does not end with success
     * @throws CallPendingException if it has not ended in time: it lives on, and the exception has its handle
     */
    public Object call(String method, Object params, Duration timeout) {
        return call(method, params, timeout, CallOptions.none());
    }

    /**
     * Call a method in some special way and wait for its result, for a while.
     *
     * @param method {@code service/method}
     * @param params as above
     * @param timeout how long to wait
     * @param options how the call is to be made
     * @return the result
     * @throws CallFailedException if the call does not end with success
     * @throws CallPendingException if it has not ended in time: it lives on, and the exception has its handle
     */
    public Object call(String method, Object params, Duration timeout, CallOptions options) {
        return called(method, params, Given.patience("timeout", timeout), options);
    }

    /**
     * Call a method without a thread that waits for it. Cancelling the future cancels the call.
     *
     * @param method {@code service/method}
     * @param params as above
     * @return completes with the result, or with what {@link #call(String, Object)} would throw
     */
    public CompletableFuture<Object> callAsync(String method, Object params) {
        return callAsync(method, params, CallOptions.none());
    }

    /**
     * Call a method in some special way without a thread that waits for it. Cancelling the future cancels the call.
     *
     * @param method {@code service/method}
     * @param params as above
     * @param options how the call is to be made
     * @return completes with the result, or with what {@link #call(String, Object)} would throw
     */
    public CompletableFuture<Object> callAsync(String method, Object params, CallOptions options) {
        wires.refuseIfClosed();
        CompletableFuture<Object> future = new CompletableFuture<>();
        executor.execute(() -> {
            try {
                PendingCall pending = started(method, params, 0, options, FOR_EVER_SECONDS);
                future.whenComplete((result, problem) -> {
                    if (future.isCancelled()) {
                        executor.execute(pending::cancel);
                    }
                });
                pending.complete(future);
            } catch (RuntimeException problem) {
                future.completeExceptionally(problem);
            }
        });
        return future;
    }

    /**
     * Call a method and return at once.
     *
     * @param method {@code service/method}
     * @param params as above
     * @return the handle of the call
     */
    public PendingCall start(String method, Object params) {
        return start(method, params, CallOptions.none());
    }

    /**
     * Call a method in some special way and return at once.
     *
     * @param method {@code service/method}
     * @param params as above
     * @param options how the call is to be made
     * @return the handle of the call
     */
    public PendingCall start(String method, Object params, CallOptions options) {
        return started(method, params, 0, options, FOR_EVER_SECONDS);
    }

    /**
     * The handle of a call that was made before, perhaps by another process of the same client.
     *
     * @param requestId which call it is
     * @return the handle
     */
    public PendingCall pending(String requestId) {
        return new PendingCall(wires, executor, requestId, answerSeconds);
    }

    /**
     * What is on offer to this client.
     *
     * @return for each method its full name ({@code method}), {@code workers}, {@code live_workers}
     */
    public List<Map<?, ?>> methods() {
        List<Map<?, ?>> found = new ArrayList<>();
        String query = "";
        while (true) {
            String path = "/client/methods" + query;
            Map<String, Object> page = wires.answered(
                    token -> new Request("methods", "GET", path, token, NO_BODY, answerSeconds), FOR_EVER_SECONDS);
            if (page.get("methods") instanceof List<?> listed) {
                listed.forEach(each -> found.add((Map<?, ?>) each));
            }
            if (!(page.get("next") instanceof String next)) {
                return found;
            }
            query = "?after=" + Wire.part(next);
        }
    }

    /** Close the connections, and end the threads that wait for futures. Calls go on. */
    @Override
    public void close() {
        wires.close();
        executor.shutdownNow();
    }

    private Object called(String method, Object params, double seconds, CallOptions options) {
        double deadline = System.nanoTime() / 1e9 + seconds;
        PendingCall pending = started(method, params, Math.min(PendingCall.HOLD_SECONDS, seconds), options, seconds);
        if (pending.ended() != null) {
            return pending.ended().result();
        }
        return pending.resultWithin(Math.max(0, deadline - System.nanoTime() / 1e9));
    }

    private PendingCall started(
            String method, Object params, double holdSeconds, CallOptions options, double mostSeconds) {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("method", method);
        members.put("params", params == null ? Map.of() : params);
        members.putAll(options.members());
        if (holdSeconds >= LEAST_HOLD_SECONDS) {
            members.put("wait", new BigDecimal(Wire.seconds(holdSeconds)));
        }
        byte[] body = Json.bytes(members);
        String key = options.idempotencyKey() == null ? Keys.idempotency() : options.idempotencyKey();
        List<Header> headers = new ArrayList<>(List.of(new Header("Idempotency-Key", key)));
        if (options.traceparent() != null) {
            headers.add(new Header("traceparent", options.traceparent()));
        }
        Header[] sent = headers.toArray(new Header[0]);
        Map<String, Object> found = wires.answered(
                token -> new Request(
                        "call", "POST", "/client/requests", token, body, holdSeconds + answerSeconds, sent),
                mostSeconds);
        if (!(found.get("request_id") instanceof String requestId)) {
            throw new RefusedException("the answer is not the hall's: it names no request_id", 0, null);
        }
        PendingCall pending = pending(requestId);
        pending.keep(found);
        return pending;
    }

    /** What is set before a client is made; all of it may be left out. */
    public static final class Builder {
        private String server;
        private String clientId;
        private String secret;
        private String token;
        private Duration patience = Duration.ofSeconds(30);
        private Duration answer = Duration.ofSeconds(10);
        private SSLContext tls;

        private Builder() {}

        /**
         * The hall's address; by default HALL_SERVER, else as a hall on this machine wrote it down, else
         * http://127.0.0.1:8400.
         *
         * @param address an http or https address
         * @return this
         */
        public Builder server(String address) {
            server = address;
            return this;
        }

        /**
         * The client's id; by default HALL_CLIENT_ID.
         *
         * @param id as the operator made it
         * @return this
         */
        public Builder clientId(String id) {
            clientId = id;
            return this;
        }

        /**
         * The client's secret; by default HALL_CLIENT_SECRET.
         *
         * @param value as the operator was shown it
         * @return this
         */
        public Builder secret(String value) {
            secret = value;
            return this;
        }

        /**
         * The operator's token, which may call everything; by default HALL_ADMIN_TOKEN, else as a hall on this machine
         * made it.
         *
         * @param value the token
         * @return this
         */
        public Builder token(String value) {
            token = value;
            return this;
        }

        /**
         * How long to try again when the hall does not answer, or asks to come later; by default 30 s.
         *
         * @param time at least 0
         * @return this
         */
        public Builder patience(Duration time) {
            patience = time;
            return this;
        }

        /**
         * How long to wait for an answer that the hall is not asked to hold; by default 10 s.
         *
         * @param time more than 0
         * @return this
         */
        public Builder answer(Duration time) {
            answer = time;
            return this;
        }

        /**
         * For https with a certificate authority of one's own.
         *
         * @param context which certificates are trusted; null for those that the JDK trusts
         * @return this
         */
        public Builder tls(SSLContext context) {
            tls = context;
            return this;
        }

        /**
         * Make the client.
         *
         * @return the client, which has not connected yet
         * @throws IllegalArgumentException that names the setting that is wrong or missing
         */
        public Client build() {
            return new Client(this);
        }
    }
}
