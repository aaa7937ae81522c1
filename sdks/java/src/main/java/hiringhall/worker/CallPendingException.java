package hiringhall.worker;

/** The call has not ended within the time. It lives on: {@link #pending()} is its handle. */
public class CallPendingException extends HallException {
    private static final long serialVersionUID = 1L;

    private final transient PendingCall pending;

    CallPendingException(PendingCall pending, String status) {
        super(pending.requestId() + " is still " + status);
        this.pending = pending;
    }

    /**
     * The handle of the call.
     *
     * @return the handle
     */
    public PendingCall pending() {
        return pending;
    }
}
