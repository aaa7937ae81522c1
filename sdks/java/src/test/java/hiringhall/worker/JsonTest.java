package hiringhall.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** JSON as payloads travel. */
class JsonTest {
    enum Colour { RED }

    record Point(long x, Optional<String> name) {}

    /** Numbers come back digit for digit, whatever their size. */
    @ParameterizedTest
    @ValueSource(strings = {
        "0", "-1", "3544790567247868102", "-9223372036854775808", "9223372036854775808", "18446744073709551615",
        "123456789012345678901234567890123456789", "0.1000000000000000055", "1.0", "-0.5", "1E+400", "1e99999999999",
    })
    void numbersAreExact(String digits) {
        assertEquals(digits, Json.write(Json.parse(digits)));
        assertEquals("[" + digits + "]", Json.write(Json.parse(" [ " + digits + "\n]")));
    }

    /** Whole numbers are Long where they fit, else BigInteger; what has a fraction or an exponent is BigDecimal. */
    @Test
    void numbersHaveTheSmallestKind() {
        assertEquals(3544790567247868102L, Json.parse("3544790567247868102"));
        assertEquals(new BigInteger("18446744073709551615"), Json.parse("18446744073709551615"));
        assertEquals(new BigDecimal("1e400"), Json.parse("1e400"));
        assertEquals(new BigDecimal("0.1000000000000000055"), Json.parse("0.1000000000000000055"));
    }

    /** A number of a million digits is read at once, and passed on as it came. */
    @Test
    void hugeNumbersCostNothing() {
        String digits = "7".repeat(1_000_000);
        Object number = Json.parse(digits);
        assertTrue(number instanceof JsonNumber);
        assertEquals(digits, Json.write(number));
    }

    /** Texts come back letter for letter: escapes, all planes of Unicode, lone surrogates, U+0000. */
    @ParameterizedTest
    @ValueSource(strings = {"", "a\"b\\c/d", "\b\f\n\r\t", "\0", "äß漢字", "😀", "\ud800", "\u2028\u007f"})
    void textsAreExact(String text) {
        String written = Json.write(text);
        assertTrue(written.chars().allMatch(letter -> letter >= ' ' && letter <= '~'), written);
        assertEquals(text, Json.parse(written));
    }

    /** What is no JSON is refused, and nothing is guessed. */
    @ParameterizedTest
    @ValueSource(strings = {
        "", " ", "nul", "[1,]", "{\"a\":1,}", "{a:1}", "{\"a\" 1}", "01", "1.", ".5", "+1", "1e", "-", "NaN", "Infinity",
        "\"", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[1] 2", "'a'", "[", "{\"a\":", "\"\\u０123\"",
    })
    void nonsenseIsRefused(String text) {
        assertThrows(IllegalArgumentException.class, () -> Json.parse(text));
    }

    /** Bytes that are not UTF-8, and nesting without an end, are refused as well. */
    @Test
    void hostileTextsAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> Json.parse(new byte[] {'"', (byte) 0xff, '"'}));
        assertThrows(IllegalArgumentException.class, () -> Json.parse("[".repeat(100_000)));
        List<Object> itself = new ArrayList<>();
        itself.add(itself);
        assertThrows(IllegalArgumentException.class, () -> Json.write(itself));
    }

    /** Records are objects, enums their names, and the order of members stays. */
    @Test
    void valuesOfJavaHaveTheirEvidentForm() {
        Map<String, Object> members = new LinkedHashMap<>();
        members.put("z", new Point(1, Optional.of("o")));
        members.put("a", new Point(2, Optional.empty()));
        members.put("c", Colour.RED);
        members.put("n", new int[] {1, 2});
        assertEquals(
                "{\"z\":{\"x\":1,\"name\":\"o\"},\"a\":{\"x\":2,\"name\":null},\"c\":\"RED\",\"n\":[1,2]}",
                Json.write(members));
        assertArrayEquals("{}".getBytes(), Json.bytes(Map.of()));
    }

    /** What has no form in JSON is refused by the name of its type. */
    @Test
    void otherValuesAreRefused() {
        assertThrows(IllegalArgumentException.class, () -> Json.write(Double.NaN));
        assertThrows(IllegalArgumentException.class, () -> Json.write(Map.of(1, 2)));
        var problem = assertThrows(IllegalArgumentException.class, () -> Json.write(new Object()));
        assertTrue(problem.getMessage().contains("java.lang.Object"));
    }

    /** Whatever is written is read as the same value: a thousand values at random. */
    @Test
    void whatIsWrittenIsRead() {
        Random dice = new Random(7);
        for (int count = 0; count < 1000; count++) {
            Object value = any(dice, 4);
            assertEquals(value, Json.parse(Json.bytes(value)));
        }
    }

    private static Object any(Random dice, int depth) {
        switch (dice.nextInt(depth > 0 ? 8 : 6)) {
            case 0:
                return null;
            case 1:
                return dice.nextBoolean();
            case 2:
                return dice.nextLong();
            case 3:
                return new BigInteger(200, dice).setBit(200);
            case 4:
                return new BigDecimal(new BigInteger(80, dice), dice.nextInt(40) + 1);
            case 5:
                return new String(dice.ints(dice.nextInt(9), 0, 0x800).toArray(), 0, 0)
                        + new StringBuilder().appendCodePoint(0x1f600 + dice.nextInt(50));
            case 6:
                List<Object> list = new ArrayList<>();
                for (int count = dice.nextInt(5); count > 0; count--) {
                    list.add(any(dice, depth - 1));
                }
                return list;
            default:
                Map<String, Object> map = new LinkedHashMap<>();
                for (int count = dice.nextInt(5); count > 0; count--) {
                    map.put("k" + dice.nextInt(), any(dice, depth - 1));
                }
                return map;
        }
    }
}
