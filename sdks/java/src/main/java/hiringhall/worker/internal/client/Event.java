package hiringhall.worker.internal.client;

/** One server-sent event: its name, its data, and the id from which the stream can be taken up again. */
public record Event(String name, String data, String id) {}
