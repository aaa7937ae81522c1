package hiringhall.worker.internal.plans;

/** The worker id and the bearer token that belong together. */
public record Identity(String workerId, String token) {
    @Override
    public String toString() {
        return workerId;
    }
}
