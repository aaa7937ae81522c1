package hiringhall.worker.internal.services;

import hiringhall.worker.Fail;
import hiringhall.worker.Json;
import hiringhall.worker.ServiceWorker;
import hiringhall.worker.internal.Cancellation;
import hiringhall.worker.internal.Log;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The methods of one service by name, and what running one of them comes to. */
public final class Methods {
    private static final int MOST_NAME_CHARACTERS = 100;

    /** One method; {@code shape} is null for one that takes any JSON value. */
    private record Known(Shape shape, ServiceWorker.Method<Object> method) {}

    private final String service;
    private final Map<String, Known> known = new LinkedHashMap<>();

    public Methods(String service) {
        this.service = service;
    }

    public List<String> names() {
        return List.copyOf(known.keySet());
    }

    /** Take a method up; {@code kind} is the record of its params, null if it takes any JSON value. */
    public void add(String name, Class<?> kind, ServiceWorker.Method<Object> method) {
        if (name == null || name.isEmpty()) {
            throw new IllegalArgumentException("a method needs a name");
        }
        if (method == null) {
            throw new IllegalArgumentException(service + "/" + name + ": a method is missing");
        }
        try {
            if (kind != null) {
                Kinds.check(kind);
            }
            if (known.putIfAbsent(name, new Known(kind == null ? null : new Shape(kind), method)) != null) {
                throw new IllegalArgumentException("it is there already");
            }
        } catch (IllegalArgumentException problem) {
            throw new IllegalArgumentException(service + "/" + name + ": " + problem.getMessage(), problem);
        }
    }

    /** Run the method of a call to its end in this thread, and say how it ended. */
    Outcome outcome(RunningCall call, Object params) {
        Known method = known.get(call.method());
        if (method == null) {
            String name = call.method().substring(0, Math.min(call.method().length(), MOST_NAME_CHARACTERS));
            return Outcome.error(service + ": there is no method '" + name + "'; this worker has "
                    + String.join(", ", known.keySet().stream().sorted().toList()));
        }
        String name = service + "/" + call.method();
        Object taken;
        try {
            taken = method.shape == null ? params : method.shape.made(params);
        } catch (Misfit misfit) {
            Log.warning(call + ": " + misfit.getMessage());
            return Outcome.error(name + ": " + misfit.getMessage());
        }
        return ran(name, call, method.method, taken);
    }

    private static Outcome ran(String name, RunningCall call, ServiceWorker.Method<Object> method, Object params) {
        Object result;
        try {
            result = Cancellation.ended(method.call(params, call), call);
        } catch (Fail refusal) {
            return Outcome.failed(Cancellation.reasonOf(refusal));
        } catch (Throwable problem) {
            if (call.isCancelled()) {
                return Outcome.failed(name + ": cancelled");
            }
            Log.warning(call + " has failed", problem);
            return Outcome.error(name + ": " + problem.getClass().getSimpleName() + ": " + problem.getMessage());
        } finally {
            Thread.interrupted(); // what interrupted the method was meant for the method
        }
        try {
            return Outcome.success(Json.write(result));
        } catch (RuntimeException problem) {
            Log.warning(call + ": its result cannot be sent", problem);
            return Outcome.error(name + ": its result cannot be sent as JSON: " + problem.getMessage());
        }
    }
}
