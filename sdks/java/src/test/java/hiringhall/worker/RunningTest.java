package hiringhall.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers that run: what they answer, and what is left of them. */
@Timeout(30)
class RunningTest {
    record Add(long a, long b) {}

    private ScriptedHall hall;

    @BeforeEach
    void open() throws IOException {
        hall = new ScriptedHall();
    }

    @AfterEach
    void close() {
        hall.close();
    }

    private ServiceWorker.Builder math() {
        return ServiceWorker.builder("math").server(hall.url()).secret("s").workerId("w").concurrency(3);
    }

    private void call(String id, String method, String params) {
        hall.waiting.add("{\"request_id\":\"" + id + "\",\"method\":\"" + method + "\",\"params\":" + params + "}");
    }

    private static void until(java.util.function.BooleanSupplier so, Object what) {
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (!so.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "still there: " + what);
            Thread.onSpinWait();
        }
    }

    private static List<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("hiringhall-")).toList();
    }

    /** How many sockets this process has open, where the system tells. */
    private static long sockets() {
        Path folder = Path.of("/proc/self/fd");
        if (!Files.isDirectory(folder)) {
            return 0;
        }
        try (Stream<Path> open = Files.list(folder)) {
            return open.filter(RunningTest::isSocket).count();
        } catch (IOException problem) {
            throw new AssertionError(problem);
        }
    }

    private static boolean isSocket(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
        } catch (IOException closed) {
            return false;
        }
    }

    /** Calls are answered: results, refusals, crashes, misfits, stages, what has no form in JSON. */
    @Test
    void callsAreAnswered() throws Exception {
        try (ServiceWorker worker = math().build()) {
            worker.method("add", Add.class, (add, call) -> add.a + add.b)
                    .method("later", (params, call) -> CompletableFuture.supplyAsync(() -> params))
                    .method("refuse", (params, call) -> CompletableFuture.failedFuture(new Fail("no")))
                    .method("break", (params, call) -> List.of().get(7))
                    .method("odd", (params, call) -> new Object());
            worker.start();
            assertEquals("success 3", answered("add", "{\"a\":1,\"b\":2}"));
            assertEquals("success [1E+400]", answered("later", "[1e400]"));
            assertEquals("failed no", answered("refuse", "null"));
            assertTrue(answered("break", "null").startsWith("error math/break: ArrayIndexOutOfBoundsException: "));
            assertTrue(answered("odd", "null").startsWith("error math/odd: its result cannot be sent as JSON: "));
            assertEquals("error math/add: parameter 'b' is missing; it takes a: integer, b: integer",
                    answered("add", "{\"a\":1}"));
            assertEquals("error math: there is no method 'sub'; this worker has add, break, later, odd, refuse",
                    answered("sub", "{}"));
        }
    }

    private String answered(String method, String params) throws InterruptedException {
        call("r-" + method, method, params);
        Map<?, ?> told = hall.told();
        assertEquals("r-" + method, told.get("request_id"));
        return told.get("status") + " " + (told.get("error_text") == null
                ? Json.write(told.get("result")) : told.get("error_text"));
    }

    /** After close() no thread and no socket is left, of an Eager and of a Lazy worker. */
    @Test
    void nothingIsLeftOfServiceWorkers() throws Exception {
        long before = sockets();
        for (boolean lazy : List.of(false, true)) {
            ServiceWorker worker = math().lazy(lazy).probe("127.0.0.1", 0).build();
            worker.method("add", Add.class, (add, call) -> {
                call.progress(50, "half");
                return add.a + add.b;
            });
            call("r-1", "add", "[1,2]");
            CompletableFuture<Void> run = worker.start();
            hall.told();
            assertFalse(threads().isEmpty());
            worker.close();
            run.get(5, TimeUnit.SECONDS);
            assertThrows(IllegalStateException.class, worker::start);
        }
        until(() -> threads().isEmpty(), "threads");
        hall.close();
        until(() -> sockets() < before, "sockets");
        assertTrue(hall.paths.contains("PUT /worker/notify_worker_shutdown/w"));
    }

    /** A plan worker completes, fails and gives back; after close() no thread and no socket is left of it. */
    @Test
    void nothingIsLeftOfPlanWorkers() throws Exception {
        long before = sockets();
        CountDownLatch begun = new CountDownLatch(1);
        PlanWorker worker = PlanWorker.builder("p").server(hall.url()).bootstrapToken("b").concurrency(2)
                .handler(task -> {
                    if (task.id().equals("fail")) {
                        throw new IllegalStateException("that is why");
                    }
                    if (task.id().equals("long")) {
                        begun.countDown();
                        task.awaitCancellation(Duration.ofMinutes(1));
                    }
                }).build();
        CompletableFuture<Void> run = worker.start();
        for (String id : List.of("done", "fail", "long")) {
            hall.waiting.add("{\"task\":{\"id\":\"" + id + "\",\"plan_id\":\"p\",\"version\":2}}");
            if (!id.equals("long")) {
                Map<?, ?> told = hall.told();
                assertEquals("/tasks/" + id + (id.equals("fail") ? "/fail" : "/complete"), told.get("path"));
                assertEquals(id.equals("fail") ? "that is why" : null, told.get("reason"));
            }
        }
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        worker.close();
        assertEquals("/tasks/long/release", hall.told().get("path"));
        run.get(5, TimeUnit.SECONDS);
        until(() -> threads().isEmpty(), "threads");
        hall.close();
        until(() -> sockets() < before, "sockets");
    }

    /** What ends a run is thrown by it, and a wrong setting names itself. */
    @Test
    void errorsComeOut() {
        hall.close();
        ServiceWorker worker = math().build();
        assertThrows(IllegalArgumentException.class, worker::run);
        assertThrows(IllegalArgumentException.class, () -> math().concurrency(0).build());
        assertThrows(IllegalArgumentException.class, () -> math().hold(Duration.ofSeconds(56)).build());
        assertThrows(IllegalArgumentException.class, () -> PlanWorker.builder("").build());
        ServiceWorker lazy = math().lazy(true).probe("192.0.2.1", 0).build();
        lazy.method("add", Add.class, (add, call) -> 0);
        ExecutionException problem = assertThrows(ExecutionException.class, () -> lazy.start().get());
        assertInstanceOf(java.io.UncheckedIOException.class, problem.getCause());
    }

    /** A closed client says so, and one that is not answered gives up in time. */
    @Test
    void clientsEnd() {
        Client client = Client.builder().server("http://127.0.0.1:1").token("t").patience(Duration.ZERO).build();
        assertThrows(UnreachableException.class, () -> client.call("math/add", null));
        assertThrows(ExecutionException.class, () -> client.callAsync("math/add", null).get(5, TimeUnit.SECONDS));
        client.close();
        assertThrows(IllegalStateException.class, () -> client.call("math/add", null));
        until(() -> threads().isEmpty(), "threads");
    }
}
