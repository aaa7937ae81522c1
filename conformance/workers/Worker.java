import hiringhall.worker.Fail;
import hiringhall.worker.PlanWorker;
import hiringhall.worker.Release;
import hiringhall.worker.ServiceWorker;
import hiringhall.worker.Task;
import java.math.BigInteger;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * The verification worker of the Java SDK, for both protocols:
 * {@code hall verify worker -- java -cp sdks/java/build/hiringhall-worker.jar conformance/workers/Worker.java}.
 */
public final class Worker {
    record Nothing() {}

    record Add(BigInteger a, BigInteger b) {}

    record Text(String text) {}

    record Slow(double seconds) {}

    record Items(List<Object> items) {}

    private static final Map<String, String> TOLD = System.getenv();

    public static void main(String[] arguments) {
        if (TOLD.get("HALL_PROTOCOL").equals("plans")) {
            plans();
        } else {
            services();
        }
    }

    private static Duration seconds(String variable, String usual) {
        return duration(Double.parseDouble(TOLD.getOrDefault(variable, usual)));
    }

    private static Duration duration(double seconds) {
        return Duration.ofNanos((long) (seconds * 1e9));
    }

    private static int concurrency() {
        return Integer.parseInt(TOLD.getOrDefault("HALL_CONCURRENCY", "1"));
    }

    private static void services() {
        ServiceWorker worker = ServiceWorker.builder(TOLD.get("HALL_SERVICE"))
                .workerId(TOLD.get("HALL_WORKER_ID"))
                .lazy(TOLD.getOrDefault("HALL_RUN_MODE", "Eager").equals("Lazy"))
                .probe("127.0.0.1", 0)
                .concurrency(concurrency())
                .hold(seconds("HALL_HOLD_SECONDS", "30"))
                .answer(seconds("HALL_ANSWER_SECONDS", "10"))
                .heartbeat(seconds("HALL_HEARTBEAT_SECONDS", "30"))
                .grace(TOLD.containsKey("HALL_GRACE_SECONDS") ? seconds("HALL_GRACE_SECONDS", "0") : null)
                .build();
        worker.method("echo", (params, call) -> params);
        worker.method("add", Add.class, (add, call) -> add.a.add(add.b));
        worker.method("fail", Text.class, (said, call) -> {
            throw new Fail(said.text);
        });
        worker.method("crash", Text.class, (said, call) -> {
            throw new IllegalStateException(said.text);
        });
        worker.method("slow", Slow.class, (slow, call) -> {
            call.awaitCancellation(duration(slow.seconds));
            return "done";
        });
        worker.method("stubborn", Slow.class, (slow, call) -> {
            Thread.sleep(duration(slow.seconds).toMillis());
            return "done";
        });
        worker.method("feedback", Items.class, (told, call) -> {
            told.items.forEach(call::feedback);
            return told.items.size();
        });
        worker.method("settings", Nothing.class, (nothing, call) -> call.settings());
        worker.run();
    }

    private static void plans() {
        PlanWorker.builder(TOLD.get("HALL_PLAN"))
                .concurrency(concurrency())
                .hold(seconds("HALL_HOLD_SECONDS", "30"))
                .answer(seconds("HALL_ANSWER_SECONDS", "10"))
                .heartbeat(seconds("HALL_HEARTBEAT_SECONDS", "30"))
                .grace(seconds("HALL_GRACE_SECONDS", "0"))
                .handler(Worker::handle)
                .build()
                .run();
    }

    /** Each task says in its description what to do. */
    private static void handle(Task task) throws InterruptedException {
        String[] said = task.description().split(" ", 2);
        String text = said.length > 1 ? said[1] : "";
        switch (said[0]) {
            case "fail", "crash" -> throw new IllegalStateException(text);
            case "release" -> throw new Release(text);
            case "slow" -> task.awaitCancellation(duration(Double.parseDouble(text)));
            case "stubborn" -> Thread.sleep(duration(Double.parseDouble(text)).toMillis());
            default -> { }
        }
    }
}
