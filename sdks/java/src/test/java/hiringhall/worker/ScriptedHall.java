package hiringhall.worker;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A hall of a few lines: it logs anybody in, holds drains and claims, and remembers what it was told. */
final class ScriptedHall implements AutoCloseable {
    private static final int HELD_MILLISECONDS = 300;

    final BlockingQueue<String> waiting = new LinkedBlockingQueue<>();
    final BlockingQueue<Map<?, ?>> told = new LinkedBlockingQueue<>();
    final BlockingQueue<String> paths = new LinkedBlockingQueue<>();
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();

    ScriptedHall() throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort();
    }

    /** The next answer to a call or a task. */
    Map<?, ?> told() throws InterruptedException {
        Map<?, ?> found = told.poll(10, TimeUnit.SECONDS);
        if (found == null) {
            throw new AssertionError("nothing was told");
        }
        return found;
    }

    private void handle(HttpExchange exchange) throws IOException {
        String path = exchange.getRequestURI().getPath();
        byte[] body = exchange.getRequestBody().readAllBytes();
        paths.add(exchange.getRequestMethod() + " " + path);
        String answer = switch (path) {
            case "/worker/auth_token" -> "{\"access_token\":\"t\",\"expires_in\":3600}";
            case "/workers/register" -> "{\"worker_id\":\"w-1\",\"token\":\"t\"}";
            case "/worker/registration" -> "{\"heartbeat_delay\":\"30\"}";
            case "/worker/messages" -> "[" + held() + "]";
            case "/tasks/claim" -> held();
            default -> path.startsWith("/worker/heartbeat") ? "true" : "{}";
        };
        if (path.equals("/worker/response") || path.matches("/tasks/.*/.*")) {
            Map<Object, Object> members = new LinkedHashMap<>((Map<?, ?>) Json.parse(body));
            members.put("path", path);
            told.add(members);
        }
        exchange.sendResponseHeaders(answer.isEmpty() ? 204 : 200, answer.isEmpty() ? -1 : answer.length());
        exchange.getResponseBody().write(answer.getBytes());
        exchange.close();
    }

    private String held() {
        try {
            String found = waiting.poll(HELD_MILLISECONDS, TimeUnit.MILLISECONDS);
            return found == null ? "" : found;
        } catch (InterruptedException ended) {
            return "";
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
