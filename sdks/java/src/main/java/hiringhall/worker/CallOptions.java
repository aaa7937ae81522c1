package hiringhall.worker;

import hiringhall.worker.internal.Wire;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** How a call is to be made; an option that is not set is as the hall and the service have it. */
public final class CallOptions {
    private final Map<String, Object> members;
    private final String traceparent;
    private final String idempotencyKey;

    private CallOptions(Map<String, Object> members, String traceparent, String idempotencyKey) {
        this.members = members;
        this.traceparent = traceparent;
        this.idempotencyKey = idempotencyKey;
    }

    /**
     * No option at all.
     *
     * @return options to begin with
     */
    public static CallOptions none() {
        return new CallOptions(Map.of(), null, null);
    }

    private CallOptions with(String name, Object value) {
        Map<String, Object> more = new LinkedHashMap<>(members);
        more.put(name, value);
        return new CallOptions(more, traceparent, idempotencyKey);
    }

    private static BigDecimal seconds(Duration time) {
        return new BigDecimal(Wire.seconds(time.toNanos() / 1e9));
    }

    /**
     * After how long nobody wants the answer any more.
     *
     * @param time 1 s to 30 days; by default 24 h
     * @return these options and this one
     */
    public CallOptions deadline(Duration time) {
        return with("deadline_seconds", seconds(time));
    }

    /**
     * How urgent the call is.
     *
     * @param value -100 to 100, higher first
     * @return these options and this one
     */
    public CallOptions priority(int value) {
        return with("priority", value);
    }

    /**
     * How often an {@code error} is tried again.
     *
     * @param count at most 10
     * @return these options and this one
     */
    public CallOptions retries(int count) {
        return with("retries", count);
    }

    /**
     * Who gets the call, instead of what the service is set to.
     *
     * @param policy exclusive, race or broadcast
     * @return these options and this one
     */
    public CallOptions dispatch(String policy) {
        return with("dispatch", policy);
    }

    /**
     * What the worker must have.
     *
     * @param needed like {@code Map.of("platform", "linux", "tags", Map.of("gpu", "yes"))}
     * @return these options and this one
     */
    public CallOptions requires(Map<String, ?> needed) {
        return with("requires", needed);
    }

    /**
     * What becomes of the call if no worker is there.
     *
     * @param what queue, or fail: then {@link RefusedException} with the code {@code no_worker}
     * @return these options and this one
     */
    public CallOptions ifNoWorker(String what) {
        return with("if_no_worker", what);
    }

    /**
     * How long one run may take before the call is given to another worker.
     *
     * @param time more than 0
     * @return these options and this one
     */
    public CallOptions runLimit(Duration time) {
        return with("run_limit_seconds", seconds(time));
    }

    /**
     * The W3C trace context, passed on to the method.
     *
     * @param context the value of the header
     * @return these options and this one
     */
    public CallOptions traceparent(String context) {
        return new CallOptions(members, context, idempotencyKey);
    }

    /**
     * The key by which a repetition is known, also over restarts of this program; by default one is made for each call.
     *
     * @param key any text that a header can carry
     * @return these options and this one
     */
    public CallOptions idempotencyKey(String key) {
        return new CallOptions(members, traceparent, key);
    }

    Map<String, Object> members() {
        return members;
    }

    String traceparent() {
        return traceparent;
    }

    String idempotencyKey() {
        return idempotencyKey;
    }
}
