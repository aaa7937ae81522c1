package hiringhall.worker.internal;

/** Refusals of the hall, told in one line for people. */
public final class Envelope {
    public static final String SUPERSEDED = "worker_superseded";
    public static final String NOT_REGISTERED = "not_registered";
    private static final int MOST_CHARACTERS = 500;

    private Envelope() {}

    /** The hall's {@code error_code}, or OAuth's {@code error}; empty if the answer has none. */
    public static String code(Answer answer) {
        var members = answer.members();
        if (members.get("error_code") instanceof String code && !code.isEmpty()) {
            return code;
        }
        return members.get("error") instanceof String code ? code : "";
    }

    /** An answer in one line for people: status, code and detail of the envelope. */
    public static String explain(Answer answer) {
        StringBuilder words = new StringBuilder("the server answered ").append(answer.status());
        if (!code(answer).isEmpty()) {
            words.append(' ').append(oneLine(code(answer)));
        }
        if (answer.members().get("detail") instanceof String detail && !detail.isEmpty()) {
            words.append(" (").append(oneLine(detail)).append(')');
        }
        if (answer.status() >= 300 && answer.status() < 400) {
            words.append(" (it points to ").append(answer.header("location")).append("; redirects are not followed)");
        }
        return words.toString();
    }

    private static String oneLine(String text) {
        String safe = Wire.reportable(Wire.shortened(text, MOST_CHARACTERS)).replaceAll("\\p{Cntrl}", " ");
        return safe.strip().replaceAll("\\s+", " ");
    }
}
