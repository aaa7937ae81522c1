package hiringhall.worker.internal.client;

import hiringhall.worker.Json;
import hiringhall.worker.RefusedException;
import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Grant;
import hiringhall.worker.internal.Keeper;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.Request;
import hiringhall.worker.internal.Step;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/**
 * One client's way to the hall: a few connections that its threads share. Sends requests until they are answered, or it
 * has not worked for as long as the client is patient.
 */
public final class Wires implements AutoCloseable {
    private static final int IDLE_CONNECTIONS = 16;
    // For this long at least it is tried, however little time the caller has left.
    private static final double LEAST_PATIENCE_SECONDS = 1;
    // A token that is refused a third time in a row, after a refresh and a login, is refused for good.
    private static final int REFUSALS = 2;

    private final Address address;
    private final Keeper keeper;
    private final String token;
    private final double patienceSeconds;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private final Set<Connection> inUse = new HashSet<>();
    private boolean closed;

    public Wires(Address address, Place place, double patienceSeconds) {
        this.address = address;
        this.keeper = place.login() == null ? null : new Keeper(new Grant(place.login()), address);
        this.token = place.token();
        this.patienceSeconds = patienceSeconds;
    }

    /** Close all connections; what is under way fails. */
    @Override
    public synchronized void close() {
        closed = true;
        idle.forEach(Connection::close);
        idle.clear();
        inUse.forEach(Connection::abort);
        if (keeper != null) {
            keeper.abort();
        }
    }

    /** The members of the 2xx answer to a request, which is made for a token; trying never takes much longer than told. */
    public Map<String, Object> answered(Function<String, Request> request, double mostSeconds) {
        Persistence persistence =
                new Persistence(Math.min(patienceSeconds, Math.max(mostSeconds, LEAST_PATIENCE_SECONDS)));
        int refusals = 0;
        for (int attempts = 1; ; attempts++) {
            String present = token(persistence);
            Reply reply = exchange(request.apply(present));
            if (reply instanceof Answer answer) {
                if (answer.successful() && answer.body().length > 0) {
                    return members(answer.body());
                }
                if (answer.status() == 401 && renewable(present, refusals)) {
                    refusals++;
                    continue;
                }
            }
            persistence.await(Trouble.of(reply, attempts));
        }
    }

    /** The members of a JSON object that the hall sent. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> members(byte[] text) {
        try {
            if (Json.parse(text) instanceof Map<?, ?> members) {
                return (Map<String, Object>) members;
            }
        } catch (IllegalArgumentException problem) {
            throw new RefusedException("the answer is not the hall's: " + problem.getMessage(), 0, null);
        }
        throw new RefusedException("the answer is not the hall's: it is no JSON object", 0, null);
    }

    /** A token that is usable as far as is known. */
    public String token(Persistence persistence) {
        while (keeper != null) {
            Step step = keeper.ready();
            if (step instanceof Step.Crash crash) {
                throw crash.error();
            }
            if (!(step instanceof Step.Again again)) {
                return keeper.token();
            }
            refuseIfClosed();
            persistence.await(new Trouble("login: " + again.why(), again.afterSeconds()));
        }
        return token;
    }

    /** After the hall refused a token, so many times before: whether to try with another one. */
    public boolean renewable(String refused, int refusals) {
        if (keeper == null || refusals >= REFUSALS) {
            return false;
        }
        keeper.refuse(refused, refusals + 1 == REFUSALS);
        return true;
    }

    /** A connection of the caller's own, to be given to {@link #release}. */
    public synchronized Connection opened() {
        refuseIfClosed();
        Connection connection = new Connection(address);
        inUse.add(connection);
        return connection;
    }

    /** The caller has closed its connection. */
    public synchronized void release(Connection connection) {
        inUse.remove(connection);
    }

    public Persistence persistence() {
        return new Persistence(patienceSeconds);
    }

    /** IllegalStateException once the client is closed. */
    public synchronized void refuseIfClosed() {
        if (closed) {
            throw new IllegalStateException("this client is closed");
        }
    }

    private Reply exchange(Request request) {
        Connection connection;
        synchronized (this) {
            refuseIfClosed();
            connection = idle.isEmpty() ? new Connection(address) : idle.pop();
            inUse.add(connection);
        }
        Reply reply = connection.exchange(request);
        synchronized (this) {
            inUse.remove(connection);
            if (closed || idle.size() >= IDLE_CONNECTIONS) {
                connection.close();
            } else {
                idle.push(connection);
            }
            refuseIfClosed();
        }
        return reply;
    }
}
