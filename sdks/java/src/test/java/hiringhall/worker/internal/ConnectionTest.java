package hiringhall.worker.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** HTTP as servers and proxies speak it, also badly. */
@Timeout(20)
class ConnectionTest {
    private static final String PLAIN = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    private static final String CLOSE = "";

    private ServerSocket listener;
    private Connection connection;
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    @BeforeEach
    void listen() throws IOException {
        listener = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
        connection = new Connection(Address.of("http://127.0.0.1:" + listener.getLocalPort(), null));
    }

    @AfterEach
    void close() throws IOException {
        connection.close();
        listener.close();
    }

    /** Answer requests in this order, over as many connections as it takes; an empty answer closes. */
    private void answering(String... answers) {
        Queue<String> left = new ArrayDeque<>(List.of(answers));
        Thread server = new Thread(() -> {
            while (!left.isEmpty()) {
                try (Socket socket = listener.accept()) {
                    String head = head(socket.getInputStream());
                    while (!head.isEmpty()) {
                        heard.add(head);
                        String answer = left.poll();
                        if (answer == null || answer.equals(CLOSE)) {
                            break;
                        }
                        socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                        if (!answer.contains("Content-Length: 2\r\n") && !answer.contains("chunked")) {
                            break;
                        }
                        head = head(socket.getInputStream());
                    }
                } catch (IOException ended) {
                    // the test is over
                }
            }
        });
        server.setDaemon(true);
        server.start();
    }

    private static String head(InputStream input) throws IOException {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        while (!found.toString(StandardCharsets.ISO_8859_1).endsWith("\r\n\r\n")) {
            int next = input.read();
            if (next < 0) {
                return "";
            }
            found.write(next);
        }
        return found.toString(StandardCharsets.ISO_8859_1);
    }

    private static Request request() {
        return new Request("ask", "GET", "/x", "token", new byte[0], 5);
    }

    private String told(Reply reply) {
        return reply instanceof Answer answer ? answer.status() + " " + answer.text() : "lost";
    }

    /** Requests follow each other on one connection, and name host and token. */
    @Test
    void connectionsAreKept() {
        answering(PLAIN, PLAIN);
        assertEquals("200 ok", told(connection.exchange(request())));
        assertEquals("200 ok", told(connection.exchange(request())));
        assertEquals(2, heard.size());
        assertTrue(heard.peek().startsWith("GET /x HTTP/1.1\r\nHost: 127.0.0.1:" + listener.getLocalPort() + "\r\n"));
        assertTrue(heard.peek().contains("\r\nAuthorization: Bearer token\r\n"));
    }

    /** A body may come in chunks, with extensions and trailers, or end with the connection. */
    @Test
    void framingsAreUnderstood() {
        answering(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\n\r\nuntil the end", PLAIN);
        assertEquals("200 hello", told(connection.exchange(request())));
        assertEquals("201 until the end", told(connection.exchange(request())));
        assertEquals("200 ok", told(connection.exchange(request())));
    }

    /** Half an answer is none, and what speaks no HTTP is no hall. */
    @Test
    void halfAnswersAreLost() {
        answering(
                "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "HTTP/1.1 200 OK\r\nContent-Le",
                "HTTP/1.1 200 OK\r\nTransfer-encoding: Chunks, chunked\r\n\r\nzz\r\n", "SSH-2.0-x\r\n\r\n", PLAIN);
        for (int count = 0; count < 4; count++) {
            assertEquals("lost", told(connection.exchange(request())));
            connection.close();
        }
        assertEquals("200 ok", told(connection.exchange(request())));
    }

    /** A connection that was closed while it was idle is opened again; one that is not to be repeated is lost. */
    @Test
    void idleConnectionsAreOpenedAgain() {
        answering(PLAIN, CLOSE, PLAIN, CLOSE);
        assertEquals("200 ok", told(connection.exchange(request())));
        assertEquals("200 ok", told(connection.exchange(request())));
        assertEquals("lost", told(connection.exchange(request().onceOnly())));
    }

    /** What is interrupted may still be answered; what is aborted is lost at once, and so is all that follows. */
    @Test
    void otherThreadsEndAnExchange() throws Exception {
        CompletableFuture<String> told = CompletableFuture.supplyAsync(() -> told(connection.exchange(request())));
        try (Socket socket = listener.accept()) {
            head(socket.getInputStream());
            connection.interrupt();
            assertEquals(-1, socket.getInputStream().read());
            socket.getOutputStream().write(PLAIN.getBytes(StandardCharsets.ISO_8859_1));
            assertEquals("200 ok", told.get(5, TimeUnit.SECONDS));
        }
        connection.close();
        told = CompletableFuture.supplyAsync(() -> told(connection.exchange(request())));
        try (Socket socket = listener.accept()) {
            head(socket.getInputStream());
            connection.abort();
            assertEquals("lost", told.get(5, TimeUnit.SECONDS));
        }
        assertEquals("lost", told(connection.exchange(request())));
    }

    /** An answer that does not come in time is lost. */
    @Test
    void silenceIsLost() {
        Request hasty = new Request("ask", "GET", "/x", "", new byte[0], 0.1);
        assertEquals("lost", told(connection.exchange(hasty)));
    }
}
