package hiringhall.worker;

/** A token or secret is missing, wrong, revoked, or not allowed to act so ("401 / 403: crash"). */
public class UnauthorizedException extends HallException {
    private static final long serialVersionUID = 1L;

    /**
     * An exception with this text.
     *
     * @param text what happened
     */
    public UnauthorizedException(String text) {
        super(text);
    }
}
