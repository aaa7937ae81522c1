package hiringhall.worker;

import hiringhall.worker.internal.Address;
import hiringhall.worker.internal.Given;
import hiringhall.worker.internal.Grant;
import hiringhall.worker.internal.Keeper;
import hiringhall.worker.internal.Keys;
import hiringhall.worker.internal.Login;
import hiringhall.worker.internal.Run;
import hiringhall.worker.internal.Runner;
import hiringhall.worker.internal.services.Methods;
import hiringhall.worker.internal.services.Probe;
import hiringhall.worker.internal.services.Rules;
import hiringhall.worker.internal.services.Session;
import hiringhall.worker.internal.services.Shift;
import hiringhall.worker.internal.services.Terms;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import javax.net.ssl.SSLContext;

/**
 * Offers methods of one service, runs them when they are called, and gives the hall their answers.
 *
 * <p>Methods run in threads of their own, as many at once as {@link Builder#concurrency} says; signs of life come from
 * another thread.
 */
public final class ServiceWorker implements AutoCloseable {
    /**
     * Answers calls of one method.
     *
     * <p>What it returns is the result: what {@link Json} can write, or a {@link java.util.concurrent.CompletionStage}
     * of that, which is cancelled with the call. Throwing {@link Fail} ends the call as failed, any other exception as
     * error.
     *
     * @param <P> what it takes
     */
    @FunctionalInterface
    public interface Method<P> {
        /**
         * Answer one call.
         *
         * @param params the params of the call
         * @param call the call itself: feedback, cancellation, settings
         * @return the result
         * @throws Exception to refuse, or because it broke
         */
        Object call(P params, Call call) throws Exception;
    }

    private final Builder made;
    private final Address address;
    private final Terms terms;
    private final Rules rules;
    private final Methods methods;
    private final Runner runner = new Runner("ServiceWorker");
    private volatile Session session;

    private ServiceWorker(Builder made) {
        this.made = made;
        address = Address.of(Given.server(made.server), made.tls);
        int concurrency = Given.width("concurrency", made.concurrency, Builder.MOST_AT_ONCE);
        rules = new Rules(concurrency, made.grace == null
                ? Double.POSITIVE_INFINITY : Given.patience("grace", made.grace));
        terms = new Terms(
                Given.name("service", made.service, "name the service whose methods this worker offers"),
                made.workerId == null || made.workerId.isEmpty() ? ownName() : made.workerId,
                profile(),
                Given.seconds("hold", made.hold, Given.LONGEST_HOLD),
                Given.seconds("answer", made.answer),
                made.heartbeat == null ? null : Given.seconds("heartbeat", made.heartbeat));
        methods = new Methods(terms.service());
    }

    /**
     * Begin to make a worker.
     *
     * @param service the service whose methods it offers
     * @return what is set before {@link Builder#build}
     */
    public static Builder builder(String service) {
        return new Builder(service);
    }

    /**
     * Offer a method that takes named parameters: the components of a record. Before the method runs, the members of
     * {@code params}, or its values in their order, are fitted to the components; what does not fit is answered in words
     * that the client can use.
     *
     * <p>Components may be long, int, BigInteger (whole numbers), double, BigDecimal, Number, boolean, String, Object,
     * enums (by name), records, List, Map with texts as names, and Optional for what may be missing.
     *
     * @param <P> the record
     * @param name the bare name of the method
     * @param params the class of the record
     * @param method what answers the calls
     * @return this worker
     * @throws IllegalArgumentException if no params could fill the record, or the method is there already
     */
    public <P extends Record> ServiceWorker method(String name, Class<P> params, Method<? super P> method) {
        methods.add(name, params, (found, call) -> method.call(params.cast(found), call));
        return this;
    }

    /**
     * Offer a method that takes the whole of {@code params}, whatever JSON value it is, as {@link Json} reads it.
     *
     * @param name the bare name of the method
     * @param method what answers the calls
     * @return this worker
     * @throws IllegalArgumentException if the method is there already
     */
    public ServiceWorker method(String name, Method<Object> method) {
        methods.add(name, null, method);
        return this;
    }

    /**
     * The name of this process among the workers of the service.
     *
     * @return the worker id
     */
    public String workerId() {
        return terms.workerId();
    }

    /**
     * The service's settings and secrets, as the hall told them at registration.
     *
     * @return the map, empty before
     */
    public Map<String, String> settings() {
        Session present = session;
        return present == null ? Map.of() : present.settings();
    }

    /**
     * Work until SIGTERM, SIGINT, {@link #stop}, or until the hall says so; then return. A second signal ends the
     * process at once.
     *
     * @throws UnauthorizedException if the secret or a token is not accepted
     * @throws RefusedException if the address is wrong
     * @throws SupersededException if another process took over this worker's id
     * @throws java.io.UncheckedIOException if a Lazy worker cannot listen
     */
    public void run() {
        runner.run(this::shift);
    }

    /**
     * Work in threads of its own until {@link #stop} or {@link #close}, or until the hall says so. Signals are left to
     * the program.
     *
     * @return completes when the work has ended, with what {@link #run} would throw if it ended so
     */
    public CompletableFuture<Void> start() {
        return runner.start(this::shift);
    }

    /** End the work as SIGTERM would, from any thread, also from a method. Returns at once. */
    public void stop() {
        runner.stop();
    }

    /** End the work and wait for its end. Not from a method, which would wait for itself. */
    @Override
    public void close() {
        runner.close();
    }

    private Run shift() {
        if (methods.names().isEmpty()) {
            throw new IllegalArgumentException("no methods: offer some with method(name, …)");
        }
        String secret = made.secret == null ? Given.variable("HALL_SERVICE_SECRET") : made.secret;
        Given.name("secret", secret, "give secret or HALL_SERVICE_SECRET");
        Probe probe = made.lazy ? new Probe(made.probeHost, made.probePort) : null;
        Map<String, Object> profile = new LinkedHashMap<>(terms.profile());
        profile.put("methods", methods.names());
        if (probe != null) {
            profile.put("ip", made.ip == null ? Probe.ownAddress(address) : made.ip);
            profile.put("port", probe.port());
        }
        Terms whole = new Terms(
                terms.service(), terms.workerId(), profile, terms.holdSeconds(), terms.answerSeconds(),
                terms.heartbeatSeconds());
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("service_id", terms.service());
        fields.put("auth_secret", secret);
        fields.put("worker_id", terms.workerId());
        String advice = "check the service's name and its secret (secret or HALL_SERVICE_SECRET)";
        Grant grant = new Grant(new Login("/worker/auth_token", fields, advice, terms.answerSeconds()));
        Session begun = new Session(whole, Keys::idempotency);
        session = begun;
        return new Shift(begun, address, new Keeper(grant, address), methods, rules, probe);
    }

    private Map<String, Object> profile() {
        Map<String, Object> tags = new LinkedHashMap<>();
        tags.put("concurrency", String.valueOf(made.concurrency));
        tags.putAll(made.tags);
        Map<String, Object> profile = new LinkedHashMap<>();
        profile.put("run_mode", made.lazy ? "Lazy" : "Eager");
        if (made.version != null) {
            profile.put("version", made.version);
        }
        profile.put("tags", tags);
        profile.put("platform", made.platform == null ? ownPlatform() : made.platform);
        profile.put("supported_executors", made.supportedExecutors);
        profile.put("interactive_desktop", made.interactiveDesktop);
        profile.put("browser_runtime", made.browserRuntime);
        profile.put("trace", true);
        return profile;
    }

    private static String ownName() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException problem) {
            host = "worker";
        }
        return host + "-" + Keys.made(6);
    }

    private static String ownPlatform() {
        String name = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        return name.startsWith("windows") ? "windows" : name.startsWith("mac") ? "macos" : "linux";
    }

    /** What is set before a worker is made; all of it may be left out. */
    public static final class Builder {
        private static final int MOST_AT_ONCE = 1000;

        private final String service;
        private String server;
        private String secret;
        private String workerId;
        private int concurrency = 1;
        private boolean lazy;
        private String probeHost = "0.0.0.0";
        private int probePort;
        private String ip;
        private String version;
        private Map<String, String> tags = Map.of();
        private String platform;
        private List<String> supportedExecutors = List.of();
        private boolean interactiveDesktop;
        private boolean browserRuntime;
        private Duration heartbeat;
        private Duration hold = Duration.ofSeconds(30);
        private Duration answer = Duration.ofSeconds(10);
        private Duration grace;
        private SSLContext tls;

        private Builder(String service) {
            this.service = service;
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
         * The service's secret; by default HALL_SERVICE_SECRET.
         *
         * @param value the secret
         * @return this
         */
        public Builder secret(String value) {
            secret = value;
            return this;
        }

        /**
         * The name of this process among the workers of the service; by default the host's name and a random part. A
         * second process with the same one takes over from the first.
         *
         * @param id the worker id
         * @return this
         */
        public Builder workerId(String id) {
            workerId = id;
            return this;
        }

        /**
         * How many calls run at once; by default 1, at most 1000.
         *
         * @param calls how many
         * @return this
         */
        public Builder concurrency(int calls) {
            concurrency = calls;
            return this;
        }

        /**
         * Take calls only when the hall knocks at the wake-up port, instead of asking all the time.
         *
         * @param wanted whether to be Lazy
         * @return this
         */
        public Builder lazy(boolean wanted) {
            lazy = wanted;
            return this;
        }

        /**
         * Where a Lazy worker listens; by default any free port of all addresses.
         *
         * @param host the address to listen at
         * @param port the port, 0 for any free one
         * @return this
         */
        public Builder probe(String host, int port) {
            probeHost = host;
            probePort = port;
            return this;
        }

        /**
         * The address at which the hall reaches a Lazy worker; by default the one by which this machine speaks to it.
         *
         * @param address an IP address
         * @return this
         */
        public Builder ip(String address) {
            ip = address;
            return this;
        }

        /**
         * The version of this worker, shown to operators.
         *
         * @param text any text
         * @return this
         */
        public Builder version(String text) {
            version = text;
            return this;
        }

        /**
         * What calls can require of a worker.
         *
         * @param pairs names and values
         * @return this
         */
        public Builder tags(Map<String, String> pairs) {
            tags = Map.copyOf(pairs);
            return this;
        }

        /**
         * The platform that calls can require; by default linux, windows or macos, as it is.
         *
         * @param name the name
         * @return this
         */
        public Builder platform(String name) {
            platform = name;
            return this;
        }

        /**
         * The executors that calls can require.
         *
         * @param names their names
         * @return this
         */
        public Builder supportedExecutors(List<String> names) {
            supportedExecutors = List.copyOf(names);
            return this;
        }

        /**
         * Whether there is a desktop to work with, which calls can require.
         *
         * @param there whether there is one
         * @return this
         */
        public Builder interactiveDesktop(boolean there) {
            interactiveDesktop = there;
            return this;
        }

        /**
         * Whether there is a browser to work with, which calls can require.
         *
         * @param there whether there is one
         * @return this
         */
        public Builder browserRuntime(boolean there) {
            browserRuntime = there;
            return this;
        }

        /**
         * The longest time between two signs of life; by default as the hall says.
         *
         * @param time more than 0
         * @return this
         */
        public Builder heartbeat(Duration time) {
            heartbeat = time;
            return this;
        }

        /**
         * How long the hall may hold a request for calls that finds none; by default 30 s, at most 55 s.
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
         * How long running calls may go on after SIGTERM before they are given back; by default as long as they take.
         *
         * @param time at least 0; null is for ever
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
        public ServiceWorker build() {
            return new ServiceWorker(this);
        }
    }
}
