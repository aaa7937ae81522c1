package hiringhall.worker;

import java.util.Collections;
import java.util.Map;
import java.util.OptionalDouble;

/** Something that a method said while it ran. */
public final class Feedback {
    private final long number;
    private final Map<String, Object> members;

    Feedback(long number, Map<String, Object> members) {
        this.number = number;
        this.members = Collections.unmodifiableMap(members);
    }

    /**
     * Its number among all that was said about the call.
     *
     * @return the number, from 1
     */
    public long number() {
        return number;
    }

    /**
     * A short word for what it is, like {@code progress} or {@code message}.
     *
     * @return the type, a text or a whole number
     */
    public Object type() {
        return members.get("ft");
    }

    /**
     * What was said.
     *
     * @return the value, as {@link Json} has it
     */
    public Object content() {
        return members.get("fc");
    }

    /**
     * How far the method is, if it tells progress.
     *
     * @return the number
     */
    public OptionalDouble percent() {
        return content() instanceof Map<?, ?> content && content.get("percent") instanceof Number percent
                ? OptionalDouble.of(percent.doubleValue()) : OptionalDouble.empty();
    }

    /**
     * The words of it, for people.
     *
     * @return the text
     */
    public String text() {
        Object found = content() instanceof Map<?, ?> content ? content.get("text") : content();
        return found == null ? "" : String.valueOf(found);
    }

    /**
     * The item with all its keys.
     *
     * @return the members, as {@link Json} has them
     */
    public Map<String, Object> members() {
        return members;
    }

    @Override
    public String toString() {
        return number + " " + type() + " " + content();
    }
}
