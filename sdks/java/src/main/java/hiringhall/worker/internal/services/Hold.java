package hiringhall.worker.internal.services;

import java.util.LinkedHashMap;
import java.util.Map;

/** One call that this worker was given, until it is answered or given up. */
public final class Hold {
    final String requestId;
    final String method;
    final Object params;
    final boolean lockRequired;
    final Map<String, Object> members;
    boolean begun;
    boolean answering;
    boolean cancelled;
    boolean givenBack;

    private Hold(String requestId, String method, Object params, boolean lockRequired, Map<String, Object> members) {
        this.requestId = requestId;
        this.method = method;
        this.params = params;
        this.lockRequired = lockRequired;
        this.members = members;
    }

    /** A message of a drain, or null if it cannot be answered. */
    static Hold of(Object message) {
        if (!(message instanceof Map<?, ?> map && map.get("request_id") instanceof String id && !id.isEmpty())) {
            return null;
        }
        Map<String, Object> members = new LinkedHashMap<>();
        map.forEach((name, value) -> {
            if (!"params".equals(name)) {
                members.put((String) name, value);
            }
        });
        String method = map.get("method") instanceof String name ? name : "";
        return new Hold(id, method, map.get("params"), Boolean.TRUE.equals(map.get("lock_required")), members);
    }

    @Override
    public String toString() {
        return method + " " + requestId;
    }
}
