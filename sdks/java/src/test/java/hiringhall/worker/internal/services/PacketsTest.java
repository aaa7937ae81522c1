package hiringhall.worker.internal.services;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Packets of the wake-up port. */
class PacketsTest {
    private static final String PACKET =
            "{\"PacketId\":\"p-1\",\"Message\":{\"MessageText\":\"pull_signal\",\"Parameters\":\"{}\\\"}\"}}";

    private static List<String> feed(Packets packets, String text) throws Packets.Malformed {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return packets.feed(bytes, bytes.length);
    }

    /** A packet is understood in whatever portions it arrives, and several in one. */
    @Test
    void portionsDoNotMatter() throws Packets.Malformed {
        Packets packets = new Packets();
        List<String> found = new ArrayList<>();
        for (String letter : (PACKET + " \n" + PACKET).split("")) {
            found.addAll(feed(packets, letter));
        }
        assertEquals(List.of("p-1", "p-1"), found);
        assertEquals(List.of("p-1", "p-1"), feed(new Packets(), PACKET + PACKET));
    }

    /** A stranger gets no answer. */
    @ParameterizedTest
    @ValueSource(strings = {
        "GET / HTTP/1.1", "[]", "{}", "{\"PacketId\":\"\",\"Message\":{\"MessageText\":\"pull_signal\"}}", "{\"ä\":1}",
        "{\"PacketId\":\"a b\",\"Message\":{\"MessageText\":\"pull_signal\"}}", "{nonsense}",
        "{\"PacketId\":\"x\",\"Message\":{\"MessageText\":\"format_disk\"}}",
    })
    void strangersAreNotAnswered(String text) {
        assertThrows(Packets.Malformed.class, () -> feed(new Packets(), text));
    }

    /** Nobody is listened to without an end. */
    @Test
    void endlessPacketsAreRefused() {
        assertThrows(Packets.Malformed.class, () -> feed(new Packets(), "{\"a\":\"" + "x".repeat(5000)));
    }
}
