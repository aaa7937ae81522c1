package hiringhall.worker;

import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Given;
import hiringhall.worker.internal.Keys;
import hiringhall.worker.internal.Run;
import hiringhall.worker.internal.Runner;
import hiringhall.worker.internal.Wire;
import hiringhall.worker.internal.plans.Identity;
import hiringhall.worker.internal.plans.Rules;
import hiringhall.worker.internal.plans.Session;
import hiringhall.worker.internal.plans.Shift;
import hiringhall.worker.internal.plans.Terms;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;

/** Takes tasks of one plan, runs a handler for each, and tells the hall how it went. */
public final class PlanWorker implements AutoCloseable {
    /**
     * Does one task. Returning completes it; throwing {@link Release} gives it back, anything else fails it with the
     * exception's text as the reason.
     */
    @FunctionalInterface
    public interface Handler {
        /**
         * Do the task.
         *
         * @param task the task
         * @throws Exception to fail it
         */
        void handle(Task task) throws Exception;
    }

    private final Builder made;
    private final Address address;
    private final Terms terms;
    private final double graceSeconds;
    private final Runner runner = new Runner("PlanWorker");

    private PlanWorker(Builder made) {
        this.made = made;
        address = Address.of(Given.server(made.server), made.tls);
        terms = new Terms(
                Given.name("plan", made.plan, "name the plan whose tasks this worker takes"),
                Wire.reportable(made.hostname == null ? ownHost() : made.hostname),
                Given.token("bootstrapToken", made.bootstrapToken, "HALL_BOOTSTRAP_TOKEN"),
                Given.token("token", made.token, "HALL_WORKER_TOKEN"),
                Given.seconds("hold", made.hold, Given.LONGEST_HOLD),
                Given.seconds("answer", made.answer),
                Given.seconds("heartbeat", made.heartbeat));
        Given.width("concurrency", made.concurrency, Builder.MOST_AT_ONCE);
        graceSeconds = Given.patience("grace", made.grace);
        if (made.handler == null) {
            throw new IllegalArgumentException("handler: say what to do with a task");
        }
        if (terms.bootstrapToken() == null && terms.token() == null) {
            throw new IllegalArgumentException("no token: give bootstrapToken (or HALL_BOOTSTRAP_TOKEN) to register, "
                    + "or token (or HALL_WORKER_TOKEN) if the cluster shares one");
        }
        if (made.workerId != null && terms.token() == null) {
            throw new IllegalArgumentException(
                    "workerId: only with token; a worker that registers gets its id from the hall");
        }
    }

    /**
     * Begin to make a worker.
     *
     * @param plan the plan whose tasks it takes
     * @return what is set before {@link Builder#build}
     */
    public static Builder builder(String plan) {
        return new Builder(plan);
    }

    /**
     * Work until SIGTERM, SIGINT, {@link #stop}, or until the hall says so; then return. A second signal ends the
     * process at once.
     *
     * @throws UnauthorizedException if a token is not accepted
     * @throws RefusedException if the address is wrong
     */
    public void run() {
        runner.run(() -> shift(false, false));
    }

    /** Do one task, then return; otherwise as {@link #run}. */
    public void runOnce() {
        runner.run(() -> shift(true, false));
    }

    /** Return when a claim brought nothing while no task was running here; otherwise as {@link #run}. */
    public void runUntilEmpty() {
        runner.run(() -> shift(false, true));
    }

    /**
     * Work in threads of its own until {@link #stop} or {@link #close}, or until the hall says so. Signals are left to
     * the program.
     *
     * @return completes when the work has ended, with what {@link #run} would throw if it ended so
     */
    public CompletableFuture<Void> start() {
        return runner.start(() -> shift(false, false));
    }

    /** End the work as SIGTERM would, from any thread, also from a handler. Returns at once. */
    public void stop() {
        runner.stop();
    }

    /** End the work and wait for its end. Not from a handler, which would wait for itself. */
    @Override
    public void close() {
        runner.close();
    }

    private Run shift(boolean once, boolean untilEmpty) {
        Session session = new Session(terms, Keys::idempotency, identity());
        return new Shift(session, address, made.handler, new Rules(made.concurrency, graceSeconds, once, untilEmpty));
    }

    private Identity identity() {
        if (terms.token() == null || (terms.bootstrapToken() != null && made.workerId == null)) {
            return null;
        }
        return new Identity(made.workerId == null ? "w-" + Keys.made(9) : made.workerId, terms.token());
    }

    private static String ownHost() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException problem) {
            return "unknown";
        }
    }

    /** What is set before a worker is made; all but the handler and a token may be left out. */
    public static final class Builder {
        private static final int MOST_AT_ONCE = 1000;

        private final String plan;
        private Handler handler;
        private String server;
        private String bootstrapToken;
        private String token;
        private String workerId;
        private int concurrency = 1;
        private String hostname;
        private Duration heartbeat = Duration.ofSeconds(30);
        private Duration hold = Duration.ofSeconds(30);
        private Duration answer = Duration.ofSeconds(10);
        private Duration grace = Duration.ZERO;
        private SSLContext tls;

        private Builder(String plan) {
            this.plan = plan;
        }

        /**
         * What to do with a task.
         *
         * @param task does one task
         * @return this
         */
        public Builder handler(Handler task) {
            handler = task;
            return this;
        }

        /**
         * The hall's address; by default HALL_SERVER, else http://127.0.0.1:8400.
         *
         * @param address an http or https address
         * @return this
         */
        public Builder server(String address) {
            server = address;
            return this;
        }

        /**
         * What registers this worker, which mints its id and token; by default HALL_BOOTSTRAP_TOKEN.
         *
         * @param value the token
         * @return this
         */
        public Builder bootstrapToken(String value) {
            bootstrapToken = value;
            return this;
        }

        /**
         * The bearer that a cluster shares; by default HALL_WORKER_TOKEN. Alone: no registration. With a bootstrap
         * token: the worker registers for its id only.
         *
         * @param value the token
         * @return this
         */
        public Builder token(String value) {
            token = value;
            return this;
        }

        /**
         * The id of a worker that does not register; by default a random one.
         *
         * @param id the worker id
         * @return this
         */
        public Builder workerId(String id) {
            workerId = id;
            return this;
        }

        /**
         * How many tasks run at once; by default 1, at most 1000.
         *
         * @param tasks how many
         * @return this
         */
        public Builder concurrency(int tasks) {
            concurrency = tasks;
            return this;
        }

        /**
         * The name that operators see; by default that of this machine.
         *
         * @param name any text
         * @return this
         */
        public Builder hostname(String name) {
            hostname = name;
            return this;
        }

        /**
         * The longest time between two signs of life; by default 30 s. The hall may ask for less.
         *
         * @param time more than 0
         * @return this
         */
        public Builder heartbeat(Duration time) {
            heartbeat = time;
            return this;
        }

        /**
         * How long the hall may hold a claim that finds nothing; by default 30 s, at most 55 s.
         *
         * @param time more than 0
         * @return this
         */
        public Builder hold(Duration time) {
            hold = time;
            return this;
        }

        /**
         * How long to wait for any other answer; by default 10 s.
         *
         * @param time more than 0
         * @return this
         */
        public Builder answer(Duration time) {
            answer = time;
            return this;
        }

        /**
         * How long running tasks may go on after SIGTERM before they are given back; by default not at all.
         *
         * @param time at least 0
         * @return this
         */
        public Builder grace(Duration time) {
            grace = time;
            return this;
        }

        /**
         * For https with a certificate authority of one's own.
         *
         * @param context which certificates are trusted; null for those that the JDK trusts
         * @return this
         */
        public Builder tls(SSLContext context) {
            tls = context;
            return this;
        }

        /**
         * Make the worker.
         *
         * @return the worker, which does not work yet
         * @throws IllegalArgumentException that names the setting that is wrong
         */
        public PlanWorker build() {
            return new PlanWorker(this);
        }
    }
}
