package hiringhall.worker.internal;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;

/**
 * Sends one request at a time over a keep-alive connection, in the thread that owns it; other threads may interrupt it.
 * Every failure of the network comes back as {@link Lost}.
 */
public final class Connection {
    private static final String AGENT = "hiringhall-worker (Java " + Runtime.version().feature() + ")";
    private static final int MOST_BODY_BYTES = 256 * 1024 * 1024;
    // A connection that was idle for less is used without a look: who closed it then is found out by the request.
    private static final long LOOK_AFTER_NANOSECONDS = 200_000_000L;

    /** An answer that comes bit by bit, as {@code body}; or, in {@code reply}, why there is none. */
    public record Opened(Reply reply, InputStream body) {}

    /** The other side closed a connection that had been idle, so most likely it never saw the request. */
    private static final class Stale extends IOException {
        private static final long serialVersionUID = 1L;

        Stale(IOException cause) {
            super(cause.getMessage(), cause);
        }
    }

    private final Address address;
    private final Object guard = new Object();
    private Socket plain;
    private Socket socket;
    private Lines input;
    private long idleSince;
    private volatile boolean interrupted;
    private volatile boolean ended;

    public Connection(Address address) {
        this.address = address;
    }

    /** Send a request and read the whole answer; each wait for the network lasts at most its timeout. */
    public Reply exchange(Request request) {
        interrupted = false;
        try {
            try {
                return attempt(request);
            } catch (Stale problem) {
                if (!request.repeatable() || interrupted || ended) {
                    throw problem;
                }
                close();
                return attempt(request);
            }
        } catch (IOException problem) {
            close();
            return Lost.of(problem instanceof Stale && problem.getCause() instanceof IOException cause ? cause : problem);
        }
    }

    /**
     * Send a request whose answer comes bit by bit. One other than 200 is read whole. The connection is of no further use
     * and has to be closed.
     */
    public Opened stream(Request request) {
        close();
        try {
            Head head = sent(request);
            return head.status() == 200
                    ? new Opened(null, head.body(input)) : new Opened(answer(head), null);
        } catch (IOException problem) {
            return new Opened(Lost.of(problem), null);
        }
    }

    /** Tell the server that nobody waits any more. An answer already under way still arrives. */
    public void interrupt() {
        interrupted = true;
        synchronized (guard) {
            if (plain != null) {
                try {
                    plain.shutdownOutput();
                } catch (IOException problem) {
                    // it is closed already
                }
            }
        }
    }

    /** Make the exchange of another thread fail at once, and every later one. */
    public void abort() {
        ended = true;
        closeSocket();
    }

    /** Close the connection; the next exchange opens another one. For the owning thread only. */
    public void close() {
        closeSocket();
        synchronized (guard) {
            plain = null;
        }
        socket = null;
        input = null;
    }

    private void closeSocket() {
        synchronized (guard) {
            if (plain != null) {
                try {
                    plain.close();
                } catch (IOException problem) {
                    // it is gone, which is what was wanted
                }
            }
        }
    }

    private Answer attempt(Request request) throws IOException {
        return answer(sent(request));
    }

    private Answer answer(Head head) throws IOException {
        ByteArrayOutputStream whole = new ByteArrayOutputStream();
        byte[] portion = new byte[8192];
        InputStream body = head.body(input);
        for (int count = body.read(portion); count >= 0; count = body.read(portion)) {
            if (whole.size() + count > MOST_BODY_BYTES) {
                throw new IOException("the answer is too long");
            }
            whole.write(portion, 0, count);
        }
        idleSince = System.nanoTime();
        if (!head.framed() || !head.keepsOpen()) {
            close();
        }
        return new Answer(head.status(), head.headers(), whole.toByteArray());
    }

    private Head sent(Request request) throws IOException {
        boolean reused = usable();
        if (!reused) {
            open();
        }
        if (ended) {
            throw new SocketException("this worker is about to exit");
        }
        try {
            socket.setSoTimeout((int) Math.max(1, Math.min(Integer.MAX_VALUE, request.timeoutSeconds() * 1000)));
            socket.getOutputStream().write(encoded(request));
            return Head.read(input);
        } catch (SocketTimeoutException problem) {
            throw problem;
        } catch (SocketException | EOFException problem) {
            throw reused ? new Stale(problem) : problem;
        }
    }

    /** Whether an open connection is left. One with something to read is of no use: no answer is awaited. */
    private boolean usable() throws IOException {
        if (socket == null || socket.isClosed() || input.hasMore()) {
            close();
            return false;
        }
        if (System.nanoTime() - idleSince > LOOK_AFTER_NANOSECONDS && socket == plain) {
            try {
                socket.setSoTimeout(1);
                input.read();
                close();
                return false;
            } catch (SocketTimeoutException quiet) {
                return true;
            } catch (IOException problem) {
                close();
                return false;
            }
        }
        return true;
    }

    private void open() throws IOException {
        Socket opened = address.connected();
        synchronized (guard) {
            plain = opened;
        }
        socket = address.secured(opened);
        input = new Lines(socket.getInputStream());
    }

    /** Head and body of a request together: one packet, and never a head whose body does not follow. */
    private byte[] encoded(Request request) throws IOException {
        boolean withBody = request.body().length > 0 || !request.method().equals("GET");
        StringBuilder head = new StringBuilder(512)
                .append(request.method()).append(' ').append(address.prefix()).append(request.path())
                .append(" HTTP/1.1\r\nHost: ").append(address.authority()).append("\r\nUser-Agent: ").append(AGENT);
        request.headers().forEach(header -> appendTo(head, header.name(), header.value()));
        if (!request.token().isEmpty()) {
            appendTo(head, "Authorization", "Bearer " + request.token());
        }
        if (withBody) {
            appendTo(head, "Content-Type", request.contentType());
            appendTo(head, "Content-Length", String.valueOf(request.body().length));
        }
        ByteArrayOutputStream whole = new ByteArrayOutputStream(head.length() + request.body().length + 4);
        whole.write(head.append("\r\n\r\n").toString().getBytes(StandardCharsets.ISO_8859_1));
        whole.write(request.body());
        return whole.toByteArray();
    }

    private static void appendTo(StringBuilder head, String name, String value) {
        head.append("\r\n").append(name).append(": ").append(value.replaceAll("[\\r\\n]", " "));
    }
}
