package hiringhall.worker.internal;

import java.util.concurrent.CountDownLatch;

/** Something that is given once, and for which others wait. */
public final class Cue {
    private final CountDownLatch latch = new CountDownLatch(1);

    public void give() {
        latch.countDown();
    }

    public boolean given() {
        return latch.getCount() == 0;
    }

    /** Wait at most so many seconds; whether it has been given. */
    public boolean await(double seconds) {
        return Waiting.uninterrupted(seconds, nanos -> latch.await(nanos, java.util.concurrent.TimeUnit.NANOSECONDS));
    }
}
