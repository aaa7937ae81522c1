package hiringhall.worker.internal.services;

/** Params that do not fit a method; the text says why, for the client. */
final class Misfit extends RuntimeException {
    private static final long serialVersionUID = 1L;

    Misfit(String text) {
        super(text, null, false, false);
    }
}
