package hiringhall.worker.internal.plans;

import hiringhall.worker.internal.Wire;
import java.util.Map;

/** One hand-over: a task held by this worker under the identity that claimed it. */
public final class Hold {
    /** What tells one hand-over from all others. */
    record Key(String workerId, String planId, String taskId, long version) {}

    final Identity identity;
    final String planId;
    final String taskId;
    final long version;
    final Map<String, Object> members;
    boolean settling;
    boolean cancelled;

    Hold(Identity identity, String planId, String taskId, long version, Map<String, Object> members) {
        this.identity = identity;
        this.planId = planId;
        this.taskId = taskId;
        this.version = version;
        this.members = members;
    }

    Key key() {
        return new Key(identity.workerId(), planId, taskId, version);
    }

    /** As {@code Hall-Holding} names it. */
    String named() {
        return Wire.part(planId) + "/" + Wire.part(taskId) + "@" + version;
    }

    @Override
    public String toString() {
        return planId + "/" + taskId + "@" + version;
    }
}
