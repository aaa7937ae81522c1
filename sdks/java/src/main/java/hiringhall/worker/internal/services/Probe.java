package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Threads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;

/**
 * The wake-up port of a Lazy worker: the hall connects, sends one packet, and reads {@code ACK:} and the packet's id.
 * The port is open to whoever can reach it, so a packet does nothing but make the worker look for calls, and nobody is
 * listened to for long.
 */
public final class Probe {
    private static final int PACKET_BYTES = 4096;
    private static final int PACKET_MILLISECONDS = 2000;
    private static final int CONVERSATIONS = 8;
    private static final int BACKLOG = 50;

    private final ServerSocket listener;
    private final Semaphore room = new Semaphore(CONVERSATIONS);
    private final Set<Socket> open = ConcurrentHashMap.newKeySet();
    private final Thread thread;
    private volatile Runnable pulled = () -> {};

    /** Binds the port; UncheckedIOException if that cannot be. */
    public Probe(String host, int port) {
        try {
            listener = new ServerSocket(port, BACKLOG, InetAddress.getByName(host));
        } catch (IOException problem) {
            throw new UncheckedIOException("a Lazy worker cannot listen at " + host + " " + port, problem);
        }
        thread = Threads.guarded("probe", this::accept, problem -> Log.warning("the wake-up port has failed", problem));
    }

    public int port() {
        return listener.getLocalPort();
    }

    /** Listen; {@code pulled} is called for each packet. */
    void start(Runnable action) {
        pulled = action;
        thread.start();
    }

    void close(double seconds) {
        quietly(listener);
        open.forEach(Probe::quietly);
        Threads.join(thread, seconds);
    }

    private static void quietly(java.io.Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException problem) {
            // it is closed already
        }
    }

    private void accept() {
        while (!listener.isClosed()) {
            try {
                Socket socket = listener.accept();
                if (room.tryAcquire()) {
                    open.add(socket);
                    Threads.guarded("probed", () -> converse(socket), problem -> Log.warning("a probe failed", problem))
                            .start();
                } else {
                    socket.close();
                }
            } catch (IOException problem) {
                // Out of descriptors, or the peer has gone again: the port stays open.
                Threads.pause(listener.isClosed() ? 0 : 0.1);
            }
        }
    }

    private void converse(Socket socket) {
        long deadline = System.nanoTime() + PACKET_MILLISECONDS * 1_000_000L;
        Packets packets = new Packets();
        byte[] data = new byte[PACKET_BYTES];
        try (socket) {
            for (long left = PACKET_MILLISECONDS; left > 0; left = (deadline - System.nanoTime()) / 1_000_000) {
                socket.setSoTimeout((int) left);
                int count = socket.getInputStream().read(data);
                if (count < 0) {
                    break;
                }
                for (String packetId : packets.feed(data, count)) {
                    socket.getOutputStream().write(("ACK:" + packetId).getBytes(StandardCharsets.US_ASCII));
                    pulled.run();
                }
            }
        } catch (Packets.Malformed problem) {
            Log.info("a probe is not answered: " + problem.getMessage());
        } catch (IOException problem) {
            // the hall sends another one
        } finally {
            open.remove(socket);
            room.release();
        }
    }

    /** The address by which this machine speaks to the hall, as the hall may see it. */
    public static String ownAddress(Address hall) {
        try (DatagramSocket socket = new DatagramSocket()) {
            socket.connect(new InetSocketAddress(hall.host(), hall.port()));
            return socket.getLocalAddress().getHostAddress();
        } catch (IOException | RuntimeException problem) {
            return "127.0.0.1";
        }
    }
}
