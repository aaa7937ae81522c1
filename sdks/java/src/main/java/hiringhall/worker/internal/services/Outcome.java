package hiringhall.worker.internal.services;

import hiringhall.worker.internal.Wire;

/** How a call ended, as it is told to the hall. {@code result} is JSON, and null unless it is a success. */
record Outcome(String status, String errorText, String result) {
    // What the hall and the client do with a longer text is cut it; this is enough for people.
    private static final int ERROR_CHARACTERS = 8192;

    static Outcome success(String result) {
        return new Outcome("success", null, result);
    }

    /** The method ran and refused; the client sees the text. */
    static Outcome failed(String text) {
        return new Outcome("failed", Wire.reportable(Wire.shortened(text, ERROR_CHARACTERS)), "null");
    }

    /** The worker could not run the method, or the method broke. */
    static Outcome error(String text) {
        return new Outcome("error", Wire.reportable(Wire.shortened(text, ERROR_CHARACTERS)), "null");
    }
}
