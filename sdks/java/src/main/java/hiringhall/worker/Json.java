package hiringhall.worker;

import java.nio.charset.StandardCharsets;

/**
 * JSON as payloads travel: numbers digit for digit in both directions.
 *
 * <p>What is read: null, {@link Boolean}, {@link String}, {@link java.util.List}, {@link java.util.Map} (in the order of
 * the text); integers as {@link Long}, or {@link java.math.BigInteger} where they need more than 64 bits; numbers with
 * a fraction or an exponent as {@link java.math.BigDecimal}; what neither can hold as {@link JsonNumber}.
 *
 * <p>What can be written besides: all numbers of the JDK that are finite, any {@link CharSequence}, {@link Iterable} and
 * array, enums (by name), {@link java.util.Optional}, and records as objects of their components.
 */
public final class Json {
    private Json() {}

    /**
     * Read a JSON text.
     *
     * @param text the whole text
     * @return its value
     * @throws IllegalArgumentException if it is no JSON, or nested more than 500 deep
     */
    public static Object parse(String text) {
        return new JsonReader(text).whole();
    }

    /**
     * Read a JSON text in UTF-8.
     *
     * @param text the whole text
     * @return its value
     * @throws IllegalArgumentException if it is no JSON in UTF-8, or nested more than 500 deep
     */
    public static Object parse(byte[] text) {
        return parse(JsonReader.decoded(text));
    }

    /**
     * Write a value as JSON, in ASCII, without spaces.
     *
     * @param value any value that has a form in JSON
     * @return the text
     * @throws IllegalArgumentException that says which value has no such form
     */
    public static String write(Object value) {
        return new JsonWriter().written(value);
    }

    /**
     * Write a value as JSON, as {@link #write} does.
     *
     * @param value any value that has a form in JSON
     * @return the bytes of the text
     * @throws IllegalArgumentException that says which value has no such form
     */
    public static byte[] bytes(Object value) {
        return write(value).getBytes(StandardCharsets.US_ASCII);
    }
}
