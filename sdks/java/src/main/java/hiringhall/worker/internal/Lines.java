package hiringhall.worker.internal;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** Bytes as they come from a connection, also by lines. */
final class Lines extends InputStream {
    private static final int MOST_LINE_BYTES = 64 * 1024;
    private static final int BUFFER_BYTES = 16 * 1024;

    private final InputStream source;
    private final byte[] buffer = new byte[BUFFER_BYTES];
    private int at;
    private int end;

    Lines(InputStream source) {
        this.source = source;
    }

    /** Whether something is here that has not been read. */
    boolean hasMore() {
        return at < end;
    }

    @Override
    public int read() throws IOException {
        if (at >= end && !filled()) {
            return -1;
        }
        return buffer[at++] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (at >= end && !filled()) {
            return -1;
        }
        int count = Math.min(length, end - at);
        System.arraycopy(buffer, at, target, offset, count);
        at += count;
        return count;
    }

    private boolean filled() throws IOException {
        at = 0;
        end = 0; // also if reading fails: what was here has been read
        end = Math.max(0, source.read(buffer, 0, buffer.length));
        return end > 0;
    }

    /** A line of the head of an answer, without its end. */
    String line() throws IOException {
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        for (int next = read(); next != '\n'; next = read()) {
            if (next < 0) {
                throw new EOFException("the answer ends in its middle");
            }
            if (found.size() >= MOST_LINE_BYTES) {
                throw new IOException("a line of the answer's head is too long");
            }
            found.write(next);
        }
        String line = found.toString(StandardCharsets.ISO_8859_1);
        return line.endsWith("\r") ? line.substring(0, line.length() - 1) : line;
    }
}
