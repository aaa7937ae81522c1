package hiringhall.worker.internal;

import java.util.HashSet;
import java.util.Set;

/** What the hall asks of this worker, from the header {@code Hall-Directive}: ids of calls, tasks as PLAN/TASK. */
public record Directive(boolean quiet, boolean terminate, Set<String> cancelledCalls, Set<TaskName> cancelledTasks) {
    /** A task by its plan and its id. */
    public record TaskName(String plan, String task) {}

    /** Read the header; unknown and malformed parts are ignored. */
    public static Directive of(String text) {
        boolean quiet = false;
        boolean terminate = false;
        Set<String> calls = new HashSet<>();
        Set<TaskName> tasks = new HashSet<>();
        for (String piece : (text == null ? "" : text).split(";")) {
            String part = piece.strip();
            quiet |= part.equals("quiet");
            terminate |= part.equals("terminate");
            if (part.startsWith("cancel=")) {
                cancelled(part.substring("cancel=".length()), calls, tasks);
            }
        }
        return new Directive(quiet, terminate, calls, tasks);
    }

    private static void cancelled(String ids, Set<String> calls, Set<TaskName> tasks) {
        for (String each : ids.split(",")) {
            String one = each.strip();
            int slash = one.indexOf('/');
            if (slash >= 0) {
                tasks.add(new TaskName(Wire.decoded(one.substring(0, slash)), Wire.decoded(one.substring(slash + 1))));
            } else if (!one.isEmpty()) {
                calls.add(Wire.decoded(one));
            }
        }
    }
}
