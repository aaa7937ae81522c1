package hiringhall.worker;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** One task, handed to this worker. */
public interface Task {
    /**
     * The id of the task within its plan.
     *
     * @return the id
     */
    String id();

    /**
     * The plan that the task belongs to.
     *
     * @return the id of the plan
     */
    String planId();

    /**
     * The version of this hand-over.
     *
     * @return the version
     */
    long version();

    /**
     * How urgent the task is.
     *
     * @return critical, high, medium or low
     */
    String priority();

    /**
     * What is to be done.
     *
     * @return the text, empty without one
     */
    String description();

    /**
     * The tasks of the same plan that were done before this one.
     *
     * @return their ids
     */
    List<String> dependencies();

    /**
     * The files that the task is about.
     *
     * @return their names
     */
    List<String> keyFiles();

    /**
     * What has to be so when the task is done.
     *
     * @return sentences for people
     */
    List<String> acceptanceCriteria();

    /**
     * How to find out whether it is so.
     *
     * @return commands or sentences
     */
    List<String> testSteps();

    /**
     * The requirement that the task is there for.
     *
     * @return the text, empty without one
     */
    String prdRequirement();

    /**
     * Everything that the server sent, including what this version of the SDK does not know.
     *
     * @return the members of the task, as {@link Json} has them
     */
    Map<String, Object> members();

    /**
     * Whether the result is no longer wanted: an operator cancelled the task, or this worker gave it back because it is
     * about to exit.
     *
     * @return whether to stop
     */
    boolean isCancelled();

    /**
     * Wait until the result is no longer wanted; a handler that runs for long does this instead of sleeping.
     *
     * @param most how long to wait
     * @return whether to stop
     */
    boolean awaitCancellation(Duration most);

    /**
     * Completes once the result is no longer wanted.
     *
     * @return the stage
     */
    CompletionStage<Void> cancellation();
}
