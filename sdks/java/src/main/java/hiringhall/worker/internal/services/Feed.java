package hiringhall.worker.internal.services;

import hiringhall.worker.Json;
import hiringhall.worker.internal.Connection;
import hiringhall.worker.internal.Log;
import hiringhall.worker.internal.Monitor;
import hiringhall.worker.internal.Step;
import hiringhall.worker.internal.Threads;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What methods say while they run, on its way to the hall: a bounded queue, and a thread that empties it in batches.
 * Nothing here delays or fails a method: a full queue loses its oldest items, an item that JSON cannot carry is dropped,
 * and so is a batch that the hall does not take.
 */
final class Feed {
    private static final int QUEUE_ITEMS = 10_000;
    private static final int BATCH_ITEMS = 200;
    private static final int BATCH_BYTES = 256 * 1024;
    private static final int ITEM_BYTES = 64 * 1024;
    // How long it is tried to pass on a batch.
    private static final double PATIENCE_SECONDS = 60;

    private record Item(String requestId, String text) {}

    private final Shift shift;
    private final Monitor changed = new Monitor();
    private final Deque<Item> waiting = new ArrayDeque<>();
    private final Connection connection;
    private final Thread thread;
    private Set<String> underWay = Set.of();
    private int lost;
    private boolean troubled;

    Feed(Shift shift) {
        this.shift = shift;
        this.connection = new Connection(shift.address);
        this.thread = Threads.guarded("feedback", this::run, shift::crash);
    }

    void start() {
        thread.start();
    }

    /** Take an item over; from any thread. What cannot be sent is logged and dropped. */
    void say(Map<String, Object> item) {
        String text;
        try {
            text = Json.write(item);
        } catch (RuntimeException problem) {
            Log.warning("feedback of " + item.get("sn") + " is dropped: " + problem.getMessage());
            return;
        }
        if (text.length() > ITEM_BYTES) {
            Log.warning("feedback of " + item.get("sn") + " is dropped: " + text.length() + " bytes, and " + ITEM_BYTES
                    + " fit");
            return;
        }
        changed.change(() -> {
            if (waiting.size() >= QUEUE_ITEMS) {
                waiting.poll();
                lost++;
            }
            waiting.add(new Item((String) item.get("rid"), text));
        });
    }

    /** Wait until what was said about a request is sent, or is unlikely to be soon. */
    void flush(String requestId, double mostSeconds) {
        changed.waitFor(() -> troubled || !(underWay.contains(requestId)
                || waiting.stream().anyMatch(item -> item.requestId.equals(requestId))), mostSeconds);
    }

    /** Give what is left so many seconds, then end. */
    void close(double mostSeconds) {
        changed.waitFor(() -> troubled || (waiting.isEmpty() && underWay.isEmpty()), mostSeconds);
        connection.abort();
    }

    /** Let the thread notice that the run has ended, and wait a little for its end. */
    void end(double seconds) {
        connection.abort();
        changed.ring();
        Threads.join(thread, seconds);
    }

    private void run() {
        while (true) {
            changed.change(() -> underWay = Set.of());
            changed.waitFor(() -> !waiting.isEmpty() || shift.ended.given());
            if (shift.ended.given()) {
                break;
            }
            send(changed.with(this::taken));
        }
        connection.close();
    }

    /** The oldest items, as many as fit into one request. */
    private List<String> taken() {
        List<String> batch = new ArrayList<>();
        Set<String> requests = new HashSet<>();
        int size = 0;
        while (!waiting.isEmpty() && batch.size() < BATCH_ITEMS && size + waiting.peek().text.length() <= BATCH_BYTES) {
            Item item = waiting.poll();
            batch.add(item.text);
            size += item.text.length();
            requests.add(item.requestId);
        }
        underWay = requests;
        if (lost > 0) {
            Log.warning(lost + " items of feedback are lost: more was said than could be sent");
            lost = 0;
        }
        return batch;
    }

    private void send(List<String> batch) {
        long giveUpAt = System.nanoTime() + (long) (PATIENCE_SECONDS * 1e9);
        Step step = shift.carryOut(new Errands.Feedback(shift.session, batch), connection, seconds -> {
            changed.change(() -> troubled = true);
            return (giveUpAt - System.nanoTime()) / 1e9 > seconds && !shift.ended.await(seconds);
        });
        changed.change(() -> troubled = step instanceof Step.Again || step instanceof Step.Crash);
        if (step instanceof Step.Skipped && batch.size() > 1) {
            // One bad item must not take the others along.
            send(batch.subList(0, batch.size() / 2));
            send(batch.subList(batch.size() / 2, batch.size()));
        } else if (step instanceof Step.Skipped skipped) {
            Log.warning("an item of feedback is dropped: " + skipped.why());
        } else if (step instanceof Step.Again again) {
            Log.warning(batch.size() + " items of feedback are dropped: " + again.why());
        }
    }
}
