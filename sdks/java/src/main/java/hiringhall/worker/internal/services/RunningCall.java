package hiringhall.worker.internal.services;

import hiringhall.worker.Call;
import hiringhall.worker.internal.Cancellation;
import hiringhall.worker.internal.Wire;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** The call of a hold, as its method sees it. */
final class RunningCall extends Cancellation implements Call {
    private static final int METHOD_REQUEST = 1;

    private final Session session;
    private final Hold hold;
    private final Map<String, Object> members;
    private final Consumer<Map<String, Object>> say;

    RunningCall(Session session, Hold hold, Consumer<Map<String, Object>> say) {
        this.session = session;
        this.hold = hold;
        this.members = Collections.unmodifiableMap(hold.members);
        this.say = say;
    }

    @Override
    public String requestId() {
        return hold.requestId;
    }

    @Override
    public String service() {
        return session.terms.service();
    }

    @Override
    public String method() {
        return hold.method;
    }

    @Override
    public Optional<Instant> deadline() {
        return Optional.ofNullable(Wire.moment(members.get("deadline")));
    }

    @Override
    public Optional<String> traceparent() {
        return members.get("traceparent") instanceof String text ? Optional.of(text) : Optional.empty();
    }

    @Override
    public Map<String, Object> members() {
        return members;
    }

    @Override
    public Map<String, String> settings() {
        return session.settings;
    }

    @Override
    public void progress(double percent, String text) {
        Map<String, Object> content = new LinkedHashMap<>();
        content.put("percent", percent == Math.rint(percent) && Math.abs(percent) < 1e9 ? (Object) (long) percent : percent);
        content.put("text", text);
        feedback(content, "progress", false);
    }

    @Override
    public void feedback(Object content, String type, boolean persist) {
        Map<String, Object> item = new LinkedHashMap<>();
        item.put("rid", hold.requestId);
        item.put("st", METHOD_REQUEST);
        item.put("sn", hold.method);
        item.put("ft", type);
        item.put("pr", persist);
        item.put("fc", content);
        say.accept(item);
    }

    @Override
    public String toString() {
        return service() + "/" + hold;
    }
}
