package hiringhall.worker.internal;

/** No answer came: the request may or may not have been carried out. */
public record Lost(String why) implements Reply {
    /** A failure of the network. */
    public static Lost of(Exception problem) {
        String kind = problem.getClass().getSimpleName();
        return new Lost(problem.getMessage() == null ? kind : kind + ": " + problem.getMessage());
    }
}
