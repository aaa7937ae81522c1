package hiringhall.worker;

import hiringhall.worker.internal.Answer;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Lost;
import hiringhall.worker.internal.Reply;
import hiringhall.worker.internal.client.Event;
import hiringhall.worker.internal.client.Events;
import hiringhall.worker.internal.client.Persistence;
import hiringhall.worker.internal.client.Trouble;
import hiringhall.worker.internal.client.Wires;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * What a method says, as it comes, until its call has ended: from the beginning, each item once. A broken connection is
 * made anew, and goes on after the last item.
 *
 * <p>It is read once, by one thread; it closes itself at the end. Who stops before that closes it.
 */
public final class FeedbackStream implements Iterable<Feedback>, Iterator<Feedback>, AutoCloseable {
    private final PendingCall call;
    private final Wires wires;
    private final Connection connection;
    private final Persistence persistence;
    private final Events events = new Events();
    private BufferedReader lines;
    private int attempts;
    private int refusals;
    private Feedback next;
    private volatile boolean over;

    FeedbackStream(PendingCall call, Wires wires) {
        this.call = call;
        this.wires = wires;
        this.connection = wires.opened();
        this.persistence = wires.persistence();
    }

    /** This stream itself: it can be gone through once. */
    @Override
    public Iterator<Feedback> iterator() {
        return this;
    }

    /**
     * Wait until something more is said, or the call has ended.
     *
     * @throws UnreachableException if the hall does not answer for longer than the client is patient
     */
    @Override
    public boolean hasNext() {
        try {
            while (next == null && !over) {
                Event event = event();
                if (event != null) {
                    hear(event);
                }
            }
        } catch (RuntimeException problem) {
            close();
            throw problem;
        }
        return next != null;
    }

    @Override
    public Feedback next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the call has ended");
        }
        Feedback found = next;
        next = null;
        return found;
    }

    /** Stop listening; the call goes on. */
    @Override
    public void close() {
        over = true;
        connection.abort();
        wires.release(connection);
    }

    private void hear(Event event) {
        attempts = 0;
        refusals = 0;
        try {
            var members = Wires.members(event.data().getBytes(StandardCharsets.UTF_8));
            if (event.name().equals("outcome")) {
                call.keep(members);
            } else if (event.name().equals("feedback")) {
                next = new Feedback(event.id().matches("\\d{1,18}") ? Long.parseLong(event.id()) : 0, members);
            }
        } catch (RefusedException unreadable) {
            // one item less
        }
        if (event.name().equals("outcome")) {
            close();
        }
    }

    /** The next event, or null if there has to be another attempt. */
    private Event event() {
        if (lines == null && !begun()) {
            return null;
        }
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                persistence.worked();
                Event event = events.feed(line);
                if (event != null) {
                    return event;
                }
            }
        } catch (IOException problem) {
            // as good as an end
        }
        lines = null;
        bear(new Lost("the stream of feedback ended"));
        return null;
    }

    private boolean begun() {
        wires.refuseIfClosed();
        String token = wires.token(persistence);
        Connection.Opened opened = connection.stream(call.following(token, events.lastId()));
        attempts++;
        if (opened.body() != null) {
            events.restart();
            lines = new BufferedReader(new InputStreamReader(opened.body(), StandardCharsets.UTF_8));
            return true;
        }
        if (opened.reply() instanceof Answer answer && answer.status() == 401 && wires.renewable(token, refusals)) {
            refusals++;
        } else {
            bear(opened.reply());
        }
        return false;
    }

    private void bear(Reply reply) {
        if (!over) {
            persistence.await(Trouble.of(reply, attempts));
        }
    }
}
