package hiringhall.worker;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * One call of a method, handed to this worker.
 *
 * <p>It is cancelled once the answer is no longer wanted as it was: the client or an operator cancelled it, or this
 * worker lost it. What the method answers then is still what the client gets.
 */
public interface Call {
    /**
     * Which call it is.
     *
     * @return the request id
     */
    String requestId();

    /**
     * The service that was called.
     *
     * @return the service id
     */
    String service();

    /**
     * The method that was called, without its service.
     *
     * @return the bare name
     */
    String method();

    /**
     * When nobody wants the answer any more.
     *
     * @return the time, empty if the hall did not tell
     */
    Optional<Instant> deadline();

    /**
     * The W3C trace context of the client.
     *
     * @return the text, empty if it sent none
     */
    Optional<String> traceparent();

    /**
     * Everything that the hall sent beside {@code params}.
     *
     * @return the members of the message, as {@link Json} has them
     */
    Map<String, Object> members();

    /**
     * The service's settings and secrets, as the hall told them at registration.
     *
     * @return the map
     */
    Map<String, String> settings();

    /**
     * Tell how far the method is: feedback of the type {@code progress}, with {@code percent} and {@code text}.
     *
     * @param percent how much is done
     * @param text words for people
     */
    void progress(double percent, String text);

    /**
     * Tell the client something while the method runs. Returns at once and never fails: what cannot be sent is logged
     * and dropped.
     *
     * @param content any JSON value of at most 64 KiB
     */
    default void feedback(Object content) {
        feedback(content, "message", true);
    }

    /**
     * Tell the client something while the method runs, as {@link #feedback(Object)} does.
     *
     * @param content any JSON value of at most 64 KiB
     * @param type a short word for what it is
     * @param persist false: the hall keeps it for a minute only
     */
    void feedback(Object content, String type, boolean persist);

    /**
     * Whether the answer is no longer wanted as it was.
     *
     * @return whether to stop
     */
    boolean isCancelled();

    /**
     * Wait until the call is cancelled; a method that runs for long does this instead of sleeping.
     *
     * @param most how long to wait
     * @return whether it is cancelled
     */
    boolean awaitCancellation(Duration most);

    /**
     * Completes once the call is cancelled.
     *
     * @return the stage
     */
    CompletionStage<Void> cancellation();
}
