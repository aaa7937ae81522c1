package hiringhall.worker.internal.services;

import hiringhall.worker.Json;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Reads packets of the wake-up port out of bytes that arrive in any portions. */
final class Packets {
    private static final int PACKET_BYTES = 4096;
    private static final String PULL_SIGNAL = "pull_signal";

    /** What arrives is no packet that this worker understands. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed(String text) {
            super(text);
        }
    }

    private final StringBuilder text = new StringBuilder();

    /** The ids of the packets that these bytes complete. */
    List<String> feed(byte[] data, int count) throws Malformed {
        for (int at = 0; at < count; at++) {
            if (data[at] < 0) {
                throw new Malformed("not ASCII");
            }
        }
        text.append(new String(data, 0, count, StandardCharsets.US_ASCII));
        List<String> found = new ArrayList<>();
        for (int end = end(); end > 0; end = end()) {
            found.add(packetId(text.substring(0, end)));
            text.delete(0, end);
        }
        if (text.length() > PACKET_BYTES) {
            throw new Malformed("more than " + PACKET_BYTES + " bytes");
        }
        return found;
    }

    /** Where the first object ends, 0 if its end has not come yet. */
    private int end() throws Malformed {
        while (text.length() > 0 && Character.isWhitespace(text.charAt(0))) {
            text.deleteCharAt(0);
        }
        if (text.length() > 0 && text.charAt(0) != '{') {
            throw new Malformed("not a JSON object");
        }
        int depth = 0;
        boolean quoted = false;
        for (int at = 0; at < text.length(); at++) {
            char letter = text.charAt(at);
            if (letter == '"') {
                quoted = !quoted;
            } else if (quoted && letter == '\\') {
                at++;
            } else if (!quoted && letter == '{') {
                depth++;
            } else if (!quoted && letter == '}' && --depth == 0) {
                return at + 1;
            }
        }
        return 0;
    }

    private static String packetId(String packet) throws Malformed {
        Object members;
        try {
            members = Json.parse(packet);
        } catch (IllegalArgumentException problem) {
            throw new Malformed(problem.getMessage());
        }
        if (!(members instanceof Map<?, ?> map && map.get("Message") instanceof Map<?, ?> message
                && PULL_SIGNAL.equals(message.get("MessageText")))) {
            throw new Malformed("not a pull signal");
        }
        if (!(map.get("PacketId") instanceof String id && !id.isEmpty()
                && id.chars().allMatch(letter -> letter >= '!' && letter <= '~'))) {
            throw new Malformed("no PacketId");
        }
        return id;
    }
}
