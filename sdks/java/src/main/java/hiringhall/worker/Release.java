package hiringhall.worker;

/** Thrown by a handler to give its task back, so that any worker may take it again; the text is the reason. */
public class Release extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * A task given back.
     *
     * @param reason why, for people; may be null
     */
    public Release(String reason) {
        super(reason, null, false, false);
    }
}
