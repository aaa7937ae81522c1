package hiringhall.worker;

/** The hall did not answer for longer than the client was willing to try. */
public class UnreachableException extends HallException {
    private static final long serialVersionUID = 1L;

    /**
     * An exception with this text.
     *
     * @param text what happened
     */
    public UnreachableException(String text) {
        super(text);
    }
}
