package hiringhall.worker.internal.plans;

/** What does not change while a worker runs. {@code token} is the shared bearer; without it the minted one is used. */
public record Terms(
        String planId,
        String hostname,
        String bootstrapToken,
        String token,
        double holdSeconds,
        double answerSeconds,
        double heartbeatSeconds) {
    @Override
    public String toString() {
        return "Terms of " + planId;
    }
}
