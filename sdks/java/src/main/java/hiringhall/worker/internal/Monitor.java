package hiringhall.worker.internal;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** Guards what threads share, and wakes those that wait for a change of it. */
public final class Monitor {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition condition = lock.newCondition();

    /** Do something alone, and say what it brought. */
    public <T> T with(Supplier<T> action) {
        lock.lock();
        try {
            return action.get();
        } finally {
            lock.unlock();
        }
    }

    /** Change something alone, and wake those that wait. */
    public void change(Runnable action) {
        lock.lock();
        try {
            action.run();
            condition.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Wake those that wait. */
    public void ring() {
        change(() -> {});
    }

    /** Wait until it is so. */
    public void waitFor(BooleanSupplier so) {
        waitFor(so, Double.POSITIVE_INFINITY);
    }

    /** Wait until it is so, at most so many seconds; whether it is. */
    public boolean waitFor(BooleanSupplier so, double seconds) {
        return Waiting.uninterrupted(seconds, nanos -> waited(so, nanos));
    }

    /** Wait until it is so, unless this thread is interrupted. */
    public void waitInterruptibly(BooleanSupplier so) throws InterruptedException {
        waited(so, Long.MAX_VALUE / 2);
    }

    private boolean waited(BooleanSupplier so, long nanos) throws InterruptedException {
        lock.lock();
        try {
            long end = System.nanoTime() + nanos;
            while (!so.getAsBoolean()) {
                long left = end - System.nanoTime();
                if (left <= 0) {
                    return false;
                }
                condition.await(left, TimeUnit.NANOSECONDS);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }
}
