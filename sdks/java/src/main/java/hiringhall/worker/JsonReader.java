package hiringhall.worker;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads one JSON text, as RFC 8259 has it. */
final class JsonReader {
    static final int MOST_DEEP = 500;
    // Making a number of more digits costs time that grows with their square.
    private static final int MOST_DIGITS = 4300;
    private static final int MOST_LONG_DIGITS = 18;

    private final String text;
    private int at;
    private int depth;

    JsonReader(String text) {
        this.text = text;
    }

    static String decoded(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException problem) {
            throw new IllegalArgumentException("the text is not UTF-8");
        }
    }

    Object whole() {
        Object value = value();
        skip();
        if (at < text.length()) {
            throw wrong("something follows the value");
        }
        return value;
    }

    private Object value() {
        skip();
        if (at >= text.length()) {
            throw wrong("the text ends where a value is expected");
        }
        char first = text.charAt(at);
        switch (first) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            case 't':
                return word("true", Boolean.TRUE);
            case 'f':
                return word("false", Boolean.FALSE);
            case 'n':
                return word("null", null);
            default:
                return number();
        }
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        enter();
        if (!closed('}')) {
            do {
                skip();
                if (at >= text.length() || text.charAt(at) != '"') {
                    throw wrong("a name in quotes is expected");
                }
                String name = string();
                skip();
                if (!taken(':')) {
                    throw wrong("a colon is expected");
                }
                found.put(name, value());
            } while (another('}'));
        }
        depth--;
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        enter();
        if (!closed(']')) {
            do {
                found.add(value());
            } while (another(']'));
        }
        depth--;
        return found;
    }

    private void enter() {
        at++;
        if (++depth > MOST_DEEP) {
            throw wrong("it is nested too deeply");
        }
    }

    private boolean closed(char end) {
        skip();
        return taken(end);
    }

    private boolean another(char end) {
        skip();
        if (taken(',')) {
            return true;
        }
        if (!taken(end)) {
            throw wrong("a comma or " + end + " is expected");
        }
        return false;
    }

    private boolean taken(char wanted) {
        if (at < text.length() && text.charAt(at) == wanted) {
            at++;
            return true;
        }
        return false;
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw wrong("a value is expected");
        }
        at += word.length();
        return value;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        at++;
        while (true) {
            if (at >= text.length()) {
                throw wrong("a text does not end");
            }
            char next = text.charAt(at++);
            if (next == '"') {
                return found.toString();
            }
            if (next < ' ') {
                throw wrong("a control character in a text has to be escaped");
            }
            found.append(next == '\\' ? escaped() : next);
        }
    }

    private char escaped() {
        char next = at < text.length() ? text.charAt(at++) : ' ';
        switch (next) {
            case '"':
            case '\\':
            case '/':
                return next;
            case 'b':
                return '\b';
            case 'f':
                return '\f';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case 't':
                return '\t';
            case 'u':
                return unicode();
            default:
                throw wrong("there is no such escape");
        }
    }

    private char unicode() {
        int code = 0;
        for (int end = at + 4; at < end; at++) {
            int digit = at < text.length() && text.charAt(at) < 128 ? Character.digit(text.charAt(at), 16) : -1;
            if (digit < 0) {
                throw wrong("four hexadecimal digits are expected");
            }
            code = code * 16 + digit;
        }
        return (char) code;
    }

    private Number number() {
        int start = at;
        taken('-');
        int digits = at;
        if (!taken('0')) {
            digits();
        }
        int integerDigits = at - digits;
        boolean whole = true;
        if (taken('.')) {
            whole = false;
            digits();
        }
        if (taken('e') || taken('E')) {
            whole = false;
            if (!taken('+')) {
                taken('-');
            }
            digits();
        }
        return made(text.substring(start, at), whole, integerDigits);
    }

    private void digits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        if (at == start) {
            throw wrong("a value is expected");
        }
    }

    private static Number made(String digits, boolean whole, int integerDigits) {
        if (digits.length() > MOST_DIGITS) {
            return new JsonNumber(digits);
        }
        if (!whole) {
            try {
                return new BigDecimal(digits);
            } catch (NumberFormatException beyond) {
                return new JsonNumber(digits);
            }
        }
        if (integerDigits <= MOST_LONG_DIGITS) {
            return Long.valueOf(digits);
        }
        BigInteger value = new BigInteger(digits);
        return value.bitLength() < Long.SIZE ? (Number) value.longValue() : value;
    }

    private void skip() {
        while (at < text.length() && " \t\n\r".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private IllegalArgumentException wrong(String what) {
        return new IllegalArgumentException("no JSON: " + what + ", at character " + at);
    }
}
