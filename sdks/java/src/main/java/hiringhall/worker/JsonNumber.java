package hiringhall.worker;

/**
 * A number of JSON that is too long or too large for {@link java.math.BigInteger} and {@link java.math.BigDecimal} to be
 * made of it at a reasonable price. It is passed on digit for digit.
 */
public final class JsonNumber extends Number {
    private static final long serialVersionUID = 1L;

    /** The digits. */
    private final String text;

    JsonNumber(String text) {
        this.text = text;
    }

    @Override
    public int intValue() {
        return (int) doubleValue();
    }

    @Override
    public long longValue() {
        return (long) doubleValue();
    }

    @Override
    public float floatValue() {
        return Float.parseFloat(text);
    }

    @Override
    public double doubleValue() {
        return Double.parseDouble(text);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof JsonNumber number && number.text.equals(text);
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** The digits as they came. */
    @Override
    public String toString() {
        return text;
    }
}
