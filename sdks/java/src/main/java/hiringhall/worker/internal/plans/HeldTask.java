package hiringhall.worker.internal.plans;

import hiringhall.worker.Task;
import hiringhall.worker.internal.Cancellation;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/** The task of a hold, as its handler sees it. */
final class HeldTask extends Cancellation implements Task {
    private final Hold hold;
    private final Map<String, Object> members;

    HeldTask(Hold hold) {
        this.hold = hold;
        this.members = Collections.unmodifiableMap(hold.members);
    }

    @Override
    public String id() {
        return hold.taskId;
    }

    @Override
    public String planId() {
        return hold.planId;
    }

    @Override
    public long version() {
        return hold.version;
    }

    @Override
    public String priority() {
        return text("priority");
    }

    @Override
    public String description() {
        return text("description");
    }

    @Override
    public List<String> dependencies() {
        return texts("dependencies");
    }

    @Override
    public List<String> keyFiles() {
        return texts("key_files");
    }

    @Override
    public List<String> acceptanceCriteria() {
        return texts("acceptance_criteria");
    }

    @Override
    public List<String> testSteps() {
        return texts("test_steps");
    }

    @Override
    public String prdRequirement() {
        return text("prd_requirement");
    }

    @Override
    public Map<String, Object> members() {
        return members;
    }

    private String text(String name) {
        return members.get(name) instanceof String text ? text : "";
    }

    private List<String> texts(String name) {
        return members.get(name) instanceof List<?> list
                ? list.stream().filter(String.class::isInstance).map(String.class::cast).toList() : List.of();
    }

    @Override
    public String toString() {
        return "Task " + hold;
    }
}
