package hiringhall.worker;

/** Another process registered under this worker's id, which took over all that this one held. */
public class SupersededException extends HallException {
    private static final long serialVersionUID = 1L;

    /**
     * An exception with this text.
     *
     * @param text what happened
     */
    public SupersededException(String text) {
        super(text);
    }
}
