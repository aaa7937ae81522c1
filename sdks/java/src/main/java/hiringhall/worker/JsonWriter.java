package hiringhall.worker;

import java.lang.reflect.Array;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Writes one value as JSON in ASCII. */
final class JsonWriter {
    private final StringBuilder text = new StringBuilder();
    private int depth;

    String written(Object value) {
        write(value);
        return text.toString();
    }

    private void write(Object value) {
        if (value == null || value instanceof Boolean) {
            text.append(value);
        } else if (value instanceof CharSequence || value instanceof Character) {
            quote(value.toString());
        } else if (value instanceof Number number) {
            text.append(digits(number));
        } else if (value instanceof Enum<?> constant) {
            quote(constant.name());
        } else if (value instanceof Optional<?> optional) {
            write(optional.orElse(null));
        } else {
            deeper(value);
        }
    }

    private void deeper(Object value) {
        if (++depth > JsonReader.MOST_DEEP) {
            throw new IllegalArgumentException("the value is nested too deeply, or contains itself");
        }
        if (value instanceof Map<?, ?> map) {
            object(map);
        } else if (value instanceof Iterable<?> items) {
            array(items);
        } else if (value.getClass().isArray()) {
            arrayOf(value);
        } else if (value instanceof Record record) {
            object(record);
        } else {
            throw new IllegalArgumentException("a value of type " + value.getClass().getName() + " has no form in JSON");
        }
        depth--;
    }

    private static String digits(Number number) {
        if (number instanceof Double || number instanceof Float) {
            double value = number.doubleValue();
            if (Double.isNaN(value) || Double.isInfinite(value)) {
                throw new IllegalArgumentException(number + " is no number in JSON");
            }
            return number.toString();
        }
        if (number instanceof Long || number instanceof Integer || number instanceof Short || number instanceof Byte
                || number instanceof BigInteger || number instanceof BigDecimal || number instanceof JsonNumber
                || number instanceof AtomicInteger || number instanceof AtomicLong) {
            return number.toString();
        }
        throw new IllegalArgumentException("a number of type " + number.getClass().getName() + " has no form in JSON");
    }

    private void object(Map<?, ?> map) {
        char separator = '{';
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            if (!(entry.getKey() instanceof CharSequence || entry.getKey() instanceof Enum<?>)) {
                throw new IllegalArgumentException("the names of an object have to be texts, not " + entry.getKey());
            }
            text.append(separator);
            member(entry.getKey().toString(), entry.getValue());
            separator = ',';
        }
        text.append(separator == '{' ? "{}" : "}");
    }

    private void object(Record record) {
        char separator = '{';
        for (RecordComponent component : record.getClass().getRecordComponents()) {
            text.append(separator);
            member(component.getName(), valueOf(component, record));
            separator = ',';
        }
        text.append(separator == '{' ? "{}" : "}");
    }

    private static Object valueOf(RecordComponent component, Record record) {
        try {
            component.getAccessor().setAccessible(true);
            return component.getAccessor().invoke(record);
        } catch (IllegalAccessException | InvocationTargetException | RuntimeException problem) {
            throw new IllegalArgumentException(
                    "the component " + component.getName() + " of " + record.getClass().getName() + " cannot be read",
                    problem);
        }
    }

    private void member(String name, Object value) {
        quote(name);
        text.append(':');
        write(value);
    }

    private void array(Iterable<?> items) {
        char separator = '[';
        for (Object item : items) {
            text.append(separator);
            write(item);
            separator = ',';
        }
        text.append(separator == '[' ? "[]" : "]");
    }

    private void arrayOf(Object array) {
        text.append('[');
        for (int index = 0; index < Array.getLength(array); index++) {
            if (index > 0) {
                text.append(',');
            }
            write(Array.get(array, index));
        }
        text.append(']');
    }

    private void quote(String value) {
        text.append('"');
        for (int index = 0; index < value.length(); index++) {
            char letter = value.charAt(index);
            if (letter == '"' || letter == '\\') {
                text.append('\\').append(letter);
            } else if (letter >= ' ' && letter <= '~') {
                text.append(letter);
            } else if (letter == '\n') {
                text.append("\\n");
            } else {
                text.append(String.format("\\u%04x", (int) letter));
            }
        }
        text.append('"');
    }
}
