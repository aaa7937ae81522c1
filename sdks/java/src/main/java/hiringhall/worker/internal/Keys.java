package hiringhall.worker.internal;

import java.security.SecureRandom;
import java.util.Base64;

/** Names that nobody else makes. */
public final class Keys {
    private static final SecureRandom DICE = new SecureRandom();

    private Keys() {}

    /** So many random bytes as a text that is safe in an address. */
    public static String made(int bytes) {
        byte[] random = new byte[bytes];
        DICE.nextBytes(random);
        return Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    }

    /** A key by which a repeated request is known. */
    public static String idempotency() {
        return made(18);
    }
}
