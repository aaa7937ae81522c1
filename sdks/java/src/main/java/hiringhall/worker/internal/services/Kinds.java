package hiringhall.worker.internal.services;

import hiringhall.worker.JsonNumber;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Values of JSON as the types of Java that a method asks for; nothing is converted that is not plainly the same. */
final class Kinds {
    private static final Map<Class<?>, String> NAMES = Map.ofEntries(
            Map.entry(long.class, "integer"), Map.entry(Long.class, "integer"), Map.entry(int.class, "integer"),
            Map.entry(Integer.class, "integer"), Map.entry(BigInteger.class, "integer"),
            Map.entry(double.class, "number"), Map.entry(Double.class, "number"), Map.entry(Number.class, "number"),
            Map.entry(BigDecimal.class, "number"), Map.entry(boolean.class, "boolean"),
            Map.entry(Boolean.class, "boolean"), Map.entry(String.class, "string"), Map.entry(Object.class, "anything"));
    private static final Set<Class<?>> INTEGERS =
            Set.of(long.class, Long.class, int.class, Integer.class, BigInteger.class);

    private Kinds() {}

    static boolean optional(Type type) {
        return raw(type) == Optional.class;
    }

    /** The type in words for clients. */
    static String named(Type type) {
        Class<?> kind = raw(type);
        if (NAMES.containsKey(kind)) {
            return NAMES.get(kind);
        }
        if (kind == Optional.class) {
            return named(argument(type, 0)) + " (optional)";
        }
        if (kind == List.class) {
            return "array of " + named(argument(type, 0));
        }
        if (kind.isEnum()) {
            return Arrays.stream(kind.getEnumConstants()).map(each -> ((Enum<?>) each).name())
                    .collect(Collectors.joining(" or "));
        }
        return "object";
    }

    /** See that JSON can fill a record; IllegalArgumentException names the component that it cannot. */
    static void check(Class<?> kind) {
        check(kind, new HashSet<>());
    }

    private static void check(Class<?> kind, Set<Class<?>> seen) {
        if (seen.add(kind)) {
            for (RecordComponent component : kind.getRecordComponents()) {
                check(component.getName(), component.getGenericType(), seen);
            }
        }
    }

    private static void check(String name, Type type, Set<Class<?>> seen) {
        Class<?> kind = raw(type);
        if (kind == List.class || kind == Optional.class) {
            check(name, argument(type, 0), seen);
        } else if (kind == Map.class) {
            if (raw(argument(type, 0)) != String.class && type instanceof ParameterizedType) {
                throw new IllegalArgumentException(name + ": the names of an object are texts: Map<String, …>");
            }
            check(name, argument(type, 1), seen);
        } else if (kind != null && kind.isRecord()) {
            check(kind, seen);
        } else if (!(kind != null && (kind.isEnum() || NAMES.containsKey(kind)))) {
            throw new IllegalArgumentException(name + ": no JSON becomes a " + type.getTypeName() + "; there are long, int,"
                    + " BigInteger, double, BigDecimal, Number, boolean, String, Object, enums, records, List, Map and"
                    + " Optional");
        }
    }

    /** The value as this type, or a Misfit that says what it should be. */
    static Object fitted(String what, Type type, Object value) {
        Class<?> kind = raw(type);
        if (kind == Object.class) {
            return value;
        }
        if (kind == Optional.class) {
            return value == null ? Optional.empty() : Optional.of(fitted(what, argument(type, 0), value));
        }
        Object found = null;
        if (value instanceof Number number) {
            found = numeric(kind, number);
        } else if (value instanceof String text) {
            found = kind == String.class ? text : kind.isEnum() ? constant(kind, text) : null;
        } else if (value instanceof Boolean truth) {
            found = kind == boolean.class || kind == Boolean.class ? truth : null;
        } else if (value instanceof List<?> list && kind == List.class) {
            found = list(what, argument(type, 0), list);
        } else if (value instanceof Map<?, ?> map) {
            found = kind == Map.class ? map(what, argument(type, 1), map)
                    : kind.isRecord() ? new Shape(kind).made(map) : null;
        }
        if (found == null) {
            throw new Misfit(what + " has to be " + named(type) + ", not " + word(value));
        }
        return found;
    }

    private static Object numeric(Class<?> kind, Number value) {
        boolean integer = value instanceof Long || value instanceof BigInteger;
        if (INTEGERS.contains(kind)) {
            if (!integer) {
                return null;
            }
            if (kind == BigInteger.class) {
                return value instanceof Long small ? BigInteger.valueOf(small) : value;
            }
            if (!(value instanceof Long small)) {
                return null;
            }
            boolean wide = kind == long.class || kind == Long.class;
            return wide ? (Object) small : small == small.intValue() ? (Object) small.intValue() : null;
        }
        if (kind == double.class || kind == Double.class) {
            double found = value.doubleValue();
            return Double.isInfinite(found) ? null : (Object) found;
        }
        if (kind == BigDecimal.class) {
            return value instanceof JsonNumber ? null : new BigDecimal(value.toString());
        }
        return kind == Number.class ? value : null;
    }

    private static Object constant(Class<?> kind, String text) {
        return Arrays.stream(kind.getEnumConstants()).filter(each -> ((Enum<?>) each).name().equals(text))
                .findFirst().orElse(null);
    }

    private static List<Object> list(String what, Type type, List<?> values) {
        List<Object> found = new ArrayList<>();
        for (Object value : values) {
            found.add(fitted(what + "[" + found.size() + "]", type, value));
        }
        return found;
    }

    private static Map<String, Object> map(String what, Type type, Map<?, ?> members) {
        Map<String, Object> found = new LinkedHashMap<>();
        members.forEach((name, value) -> found.put((String) name, fitted(what + "." + name, type, value)));
        return found;
    }

    private static Class<?> raw(Type type) {
        if (type instanceof ParameterizedType parameterized) {
            return (Class<?>) parameterized.getRawType();
        }
        return type instanceof Class<?> kind ? kind : null;
    }

    private static Type argument(Type type, int at) {
        return type instanceof ParameterizedType parameterized ? parameterized.getActualTypeArguments()[at] : Object.class;
    }

    private static String word(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof Number) {
            return value instanceof Long || value instanceof BigInteger
                    ? "this integer" : "a number with a fraction or an exponent";
        }
        return value instanceof Boolean ? "a boolean" : value instanceof String ? "this string"
                : value instanceof List<?> ? "an array" : "an object";
    }
}
