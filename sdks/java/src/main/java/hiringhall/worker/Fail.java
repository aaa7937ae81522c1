package hiringhall.worker;

/** Thrown by a method to refuse: the call ends as {@code failed}, and the client sees this text. */
public class Fail extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * A refusal.
     *
     * @param text what the client is told
     */
    public Fail(String text) {
        super(text, null, false, false);
    }
}
