package hiringhall.worker.internal;

import java.lang.reflect.Proxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Hears SIGTERM and SIGINT. From the first one on both end the process by themselves, so that a second one works
 * whatever this process still waits for.
 *
 * <p>The JDK's own way, a shutdown hook, lets no process end with status 0 and sleeps through a second signal. So the
 * module {@code jdk.unsupported} is used where it is there, which is nearly everywhere; without it, or where the JVM
 * keeps signals to itself, a shutdown hook does what it can.
 */
public final class Signals implements AutoCloseable {
    private static final List<String> NAMES = List.of("TERM", "INT");

    private final Runnable heard;
    private final Cue over = new Cue();
    private final Map<Object, Object> previous = new LinkedHashMap<>();
    private Thread hook;

    public Signals(Runnable heard) {
        this.heard = heard;
        try {
            catchThem();
        } catch (ReflectiveOperationException | RuntimeException absent) {
            restore();
            hook = new Thread(this::ending, "hiringhall-shutdown");
            Runtime.getRuntime().addShutdownHook(hook);
        }
    }

    private void ending() {
        heard.run();
        over.await(Double.POSITIVE_INFINITY);
    }

    private void catchThem() throws ReflectiveOperationException {
        Class<?> kind = Class.forName("sun.misc.SignalHandler");
        Object handler = Proxy.newProxyInstance(
                kind.getClassLoader(), new Class<?>[] {kind},
                (self, method, arguments) -> answered(self, method.getName(), arguments));
        synchronized (previous) {
            for (String name : NAMES) {
                Object signal = Class.forName("sun.misc.Signal").getConstructor(String.class).newInstance(name);
                previous.put(signal, handle(signal, handler));
            }
        }
    }

    private Object answered(Object self, String method, Object[] arguments) throws ReflectiveOperationException {
        switch (method) {
            case "handle":
                handled();
                return null;
            case "equals":
                return self == arguments[0];
            case "hashCode":
                return System.identityHashCode(self);
            default:
                return "Signals";
        }
    }

    private void handled() throws ReflectiveOperationException {
        Object byItself = Class.forName("sun.misc.SignalHandler").getField("SIG_DFL").get(null);
        synchronized (previous) {
            for (Object signal : previous.keySet()) {
                handle(signal, byItself);
            }
        }
        heard.run();
    }

    private static Object handle(Object signal, Object handler) throws ReflectiveOperationException {
        Class<?> kind = Class.forName("sun.misc.SignalHandler");
        return signal.getClass().getMethod("handle", signal.getClass(), kind).invoke(null, signal, handler);
    }

    private void restore() {
        synchronized (previous) {
            previous.forEach((signal, handler) -> {
                try {
                    handle(signal, handler);
                } catch (ReflectiveOperationException problem) {
                    // what was caught before cannot be put back: it is not ours to fail for
                }
            });
            previous.clear();
        }
    }

    @Override
    public void close() {
        restore();
        over.give();
        if (hook != null) {
            try {
                Runtime.getRuntime().removeShutdownHook(hook);
            } catch (IllegalStateException ending) {
                // the process ends already
            }
        }
    }
}
