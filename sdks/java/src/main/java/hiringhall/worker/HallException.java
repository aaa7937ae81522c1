package hiringhall.worker;

/** The hall refused for good, or cannot be reached; a supervisor should restart with a mended configuration. */
public class HallException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * An exception with this text.
     *
     * @param text what happened
     */
    public HallException(String text) {
        super(text);
    }
}
