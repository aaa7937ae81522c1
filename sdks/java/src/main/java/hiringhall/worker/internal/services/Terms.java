package hiringhall.worker.internal.services;

import java.util.Map;

/**
 * What does not change while a worker runs. {@code profile} is what registration tells besides the id and the methods;
 * {@code heartbeatSeconds} is null where the hall alone says.
 */
public record Terms(
        String service,
        String workerId,
        Map<String, Object> profile,
        double holdSeconds,
        double answerSeconds,
        Double heartbeatSeconds) {}
