package hiringhall.worker.internal.services;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What a method takes: the components of a record, read once, and the params of a call turned into one. */
final class Shape {
    private final RecordComponent[] components;
    private final Constructor<?> constructor;

    /** The shape of a record that {@link Kinds#check} has let pass; IllegalArgumentException if none can be made. */
    Shape(Class<?> kind) {
        components = kind.getRecordComponents();
        try {
            Class<?>[] types = Arrays.stream(components).map(RecordComponent::getType).toArray(Class<?>[]::new);
            constructor = kind.getDeclaredConstructor(types);
            constructor.setAccessible(true);
        } catch (NoSuchMethodException | RuntimeException problem) {
            throw new IllegalArgumentException(kind.getName() + " cannot be made: " + problem.getMessage(), problem);
        }
    }

    /** The record of these params: by name from an object, by position from an array, nothing from null. */
    Object made(Object params) {
        List<Object> values = new ArrayList<>();
        if (params instanceof List<?> list) {
            if (list.size() > components.length) {
                throw new Misfit(list.size() + " values are too many; " + takes());
            }
            for (int at = 0; at < components.length; at++) {
                values.add(at < list.size() ? fitted(at, list.get(at)) : missing(at));
            }
        } else if (params == null || params instanceof Map<?, ?>) {
            Map<?, ?> members = params == null ? Map.of() : (Map<?, ?>) params;
            for (Object name : members.keySet()) {
                if (Arrays.stream(components).noneMatch(component -> component.getName().equals(name))) {
                    throw new Misfit("there is no parameter '" + name + "'; " + takes());
                }
            }
            for (int at = 0; at < components.length; at++) {
                String name = components[at].getName();
                values.add(members.containsKey(name) ? fitted(at, members.get(name)) : missing(at));
            }
        } else {
            throw new Misfit("params have to be an object or an array; " + takes());
        }
        return constructed(values.toArray());
    }

    private Object fitted(int at, Object value) {
        return Kinds.fitted("parameter '" + components[at].getName() + "'", components[at].getGenericType(), value);
    }

    private Object missing(int at) {
        if (Kinds.optional(components[at].getType())) {
            return java.util.Optional.empty();
        }
        throw new Misfit("parameter '" + components[at].getName() + "' is missing; " + takes());
    }

    private Object constructed(Object[] values) {
        try {
            return constructor.newInstance(values);
        } catch (InvocationTargetException problem) {
            // The record's own checks speak to the client as well.
            String text = problem.getCause().getMessage();
            throw new Misfit(text == null ? problem.getCause().getClass().getSimpleName() : text);
        } catch (ReflectiveOperationException problem) {
            throw new Misfit(problem.toString());
        }
    }

    private String takes() {
        return components.length == 0 ? "it takes nothing" : "it takes " + Arrays.stream(components)
                .map(component -> component.getName() + ": " + Kinds.named(component.getGenericType()))
                .collect(Collectors.joining(", "));
    }
}
