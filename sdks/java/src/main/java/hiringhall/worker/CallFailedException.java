package hiringhall.worker;

/** The call ended, but not with success. */
public class CallFailedException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** How the call ended. */
    private final String status;

    /** What is said about it. */
    private final String errorText;

    /** Which call it is. */
    private final String requestId;

    /**
     * The end of a call.
     *
     * @param status how it ended
     * @param errorText what the client is told; may be null
     * @param requestId which call it is
     */
    public CallFailedException(String status, String errorText, String requestId) {
        super(errorText == null || errorText.isEmpty() ? status : status + ": " + errorText);
        this.status = status;
        this.errorText = errorText;
        this.requestId = requestId;
    }

    /**
     * How the call ended.
     *
     * @return failed (the method refused), error (the worker could not run it), cancelled or expired
     */
    public String status() {
        return status;
    }

    /**
     * What the method or the worker says about it.
     *
     * @return the text, null without one
     */
    public String errorText() {
        return errorText;
    }

    /**
     * Which call it is.
     *
     * @return the request id
     */
    public String requestId() {
        return requestId;
    }
}
