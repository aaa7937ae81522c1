package hiringhall.worker;

import java.util.Collections;
import java.util.Map;
import java.util.Set;

/** The end of a call. */
public final class Outcome {
    private static final String SUCCESS = "success";
    static final Set<String> FINAL = Set.of(SUCCESS, "failed", "error", "cancelled", "expired");

    private final String requestId;
    private final Map<String, Object> members;

    Outcome(String requestId, Map<String, Object> members) {
        this.requestId = requestId;
        this.members = Collections.unmodifiableMap(members);
    }

    /**
     * Which call it is.
     *
     * @return the request id
     */
    public String requestId() {
        return requestId;
    }

    /**
     * How the call ended.
     *
     * @return success, failed, error, cancelled or expired
     */
    public String status() {
        return String.valueOf(members.get("status"));
    }

    /**
     * What the method or the worker says about it.
     *
     * @return the text, null without one
     */
    public String errorText() {
        return members.get("error_text") instanceof String text ? text : null;
    }

    /**
     * Everything that the hall tells, its times among it.
     *
     * @return the members, as {@link Json} has them
     */
    public Map<String, Object> members() {
        return members;
    }

    /**
     * The result.
     *
     * @return what the method returned; of a broadcast: the list of its answers
     * @throws CallFailedException if the call did not end with success
     */
    public Object result() {
        if (!status().equals(SUCCESS)) {
            throw new CallFailedException(status(), errorText(), requestId);
        }
        return members.get("answers") == null ? members.get("result") : members.get("answers");
    }

    @Override
    public String toString() {
        return requestId + " " + status();
    }
}
