package hiringhall.worker.internal;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.ReentrantLock;

/** One grant for several threads: one of them renews it while the others go on with the token that still lasts. */
public final class Keeper {
    public static final String WAITING = "waiting before the next login";

    private final Grant grant;
    private final Connection connection;
    private final Object guard = new Object();
    private final ReentrantLock renewing = new ReentrantLock();

    public Keeper(Grant grant, Address address) {
        this.grant = grant;
        this.connection = new Connection(address);
    }

    /** The present token; empty without one. */
    public String token() {
        synchronized (guard) {
            return grant.token();
        }
    }

    /** Tell that the hall does not accept this token. */
    public void refuse(String token, boolean logIn) {
        synchronized (guard) {
            grant.refuse(token, logIn);
        }
    }

    /** See to it that there is a usable token, with one attempt at most. */
    public Step ready() {
        boolean usable;
        synchronized (guard) {
            if (!grant.wanted(now())) {
                return Step.DONE;
            }
            usable = grant.usable(now());
        }
        if (!usable) {
            renewing.lock();
        } else if (!renewing.tryLock()) {
            return Step.DONE;
        }
        try {
            return renewed();
        } finally {
            renewing.unlock();
        }
    }

    /** End an attempt of another thread, and every later one. */
    public void abort() {
        connection.abort();
    }

    private Step renewed() {
        Request request;
        synchronized (guard) {
            if (!grant.wanted(now())) {
                return Step.DONE;
            }
            double pause = grant.pauseSeconds(now());
            if (pause > 0) {
                return new Step.Again(pause, WAITING);
            }
            request = grant.request();
        }
        Reply reply = connection.exchange(request);
        connection.close(); // the next one is needed in an hour or so
        synchronized (guard) {
            Step step = grant.receive(reply, ThreadLocalRandom.current().nextDouble(), now());
            return step instanceof Step.Again && grant.usable(now()) ? Step.DONE : step;
        }
    }

    private static double now() {
        return System.nanoTime() / 1e9;
    }
}
