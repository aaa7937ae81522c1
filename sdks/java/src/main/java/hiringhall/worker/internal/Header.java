package hiringhall.worker.internal;

/** One header of a request or an answer. */
public record Header(String name, String value) {}
