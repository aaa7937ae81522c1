package hiringhall.worker.internal.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hiringhall.worker.Json;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Params of a call as the record that a method takes. */
class ShapeTest {
    enum Size { SMALL, LARGE }

    record Point(int x, int y) {}

    record All(
            long number, BigInteger large, double fraction, BigDecimal exact, boolean truth, String text, Size size,
            List<Point> points, Map<String, Long> counts, Object anything, Optional<String> note) {}

    record Add(long a, long b) {
        Add {
            if (a < 0) {
                throw new IllegalArgumentException("a must not be negative");
            }
        }
    }

    record Tree(long value, List<Tree> children) {}

    record Untellable(Instant when) {}

    private static Object made(Class<?> kind, String params) {
        return new Shape(kind).made(Json.parse(params));
    }

    /** Every kind of component is filled from its evident form. */
    @Test
    void componentsAreFilled() {
        All all = (All) made(All.class, "{\"number\":1,\"large\":36893488147419103232,\"fraction\":2,\"exact\":0.10,"
                + "\"truth\":true,\"text\":\"t\",\"size\":\"LARGE\",\"points\":[{\"x\":1,\"y\":2}],"
                + "\"counts\":{\"a\":3},\"anything\":null}");
        assertEquals(new All(1, BigInteger.ONE.shiftLeft(65), 2.0, new BigDecimal("0.10"), true, "t", Size.LARGE,
                List.of(new Point(1, 2)), Map.of("a", 3L), null, Optional.empty()), all);
    }

    /** An array gives the components in their order, null none. */
    @Test
    void positionsCount() {
        assertEquals(new Add(1, 2), made(Add.class, "[1,2]"));
        assertEquals(new Tree(1, List.of(new Tree(2, List.of()))),
                made(Tree.class, "[1,[{\"value\":2,\"children\":[]}]]"));
        assertEquals("Nothing[]", made(Nothing.class, "null").toString());
    }

    record Nothing() {}

    /** What does not fit is said in words that the client can use. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "{\"a\":1}|parameter 'b' is missing; it takes a: integer, b: integer",
        "{\"a\":1,\"b\":2,\"c\":3}|there is no parameter 'c'; it takes a: integer, b: integer",
        "[1,2,3]|3 values are too many; it takes a: integer, b: integer",
        "\"text\"|params have to be an object or an array; it takes a: integer, b: integer",
        "{\"a\":1,\"b\":\"2\"}|parameter 'b' has to be integer, not this string",
        "{\"a\":1,\"b\":2.0}|parameter 'b' has to be integer, not a number with a fraction or an exponent",
        "{\"a\":1,\"b\":true}|parameter 'b' has to be integer, not a boolean",
        "{\"a\":1,\"b\":null}|parameter 'b' has to be integer, not null",
        "{\"a\":1,\"b\":9223372036854775808}|parameter 'b' has to be integer, not this integer",
        "{\"a\":-1,\"b\":1}|a must not be negative",
    })
    void misfitsAreExplained(String params, String text) {
        assertEquals(text, assertThrows(Misfit.class, () -> made(Add.class, params)).getMessage());
    }

    /** A record that no JSON can fill is refused when the method is offered. */
    @Test
    void impossibleRecordsAreRefused() {
        var problem = assertThrows(IllegalArgumentException.class, () -> Kinds.check(Untellable.class));
        Kinds.check(Tree.class);
        assertTrue(problem.getMessage().startsWith("when: no JSON becomes a java.time.Instant"));
    }
}
