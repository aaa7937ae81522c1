package hiringhall.worker;

/** The server answered in a way that no repetition mends: a wrong address, or a request it does not accept. */
public class RefusedException extends HallException {
    private static final long serialVersionUID = 1L;

    /** The HTTP status. */
    private final int status;

    /** The hall's code. */
    private final String code;

    /**
     * An exception with this text.
     *
     * @param text what happened
     * @param status the HTTP status, 0 where there was no answer of the hall
     * @param code the hall's {@code error_code}, null without one
     */
    public RefusedException(String text, int status, String code) {
        super(text);
        this.status = status;
        this.code = code;
    }

    /**
     * The HTTP status.
     *
     * @return the status, 0 where there was no answer of the hall
     */
    public int status() {
        return status;
    }

    /**
     * The hall's {@code error_code}.
     *
     * @return the code, null without one
     */
    public String code() {
        return code;
    }
}
