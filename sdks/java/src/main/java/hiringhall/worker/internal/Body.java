package hiringhall.worker.internal;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** The body of an answer, read from its connection: as long as told, chunked, or until the connection ends. */
final class Body extends InputStream {
    private static final long UNTIL_CLOSE = -1;
    private static final int HEXADECIMAL = 16;

    private final Lines source;
    private final boolean chunked;
    private long left;
    private boolean begun;
    private boolean ended;

    private Body(Lines source, boolean chunked, long left) {
        this.source = source;
        this.chunked = chunked;
        this.left = left;
        this.ended = !chunked && left == 0;
    }

    static Body ofLength(Lines source, long length) {
        return new Body(source, false, length);
    }

    static Body untilClose(Lines source) {
        return new Body(source, false, UNTIL_CLOSE);
    }

    static Body inChunks(Lines source) {
        return new Body(source, true, 0);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!ended && chunked && left == 0) {
            nextChunk();
        }
        if (ended) {
            return -1;
        }
        int most = left == UNTIL_CLOSE ? length : (int) Math.min(length, left);
        int count = source.read(target, offset, most);
        if (count < 0) {
            if (left != UNTIL_CLOSE) {
                throw new EOFException("the answer ends in its middle");
            }
            ended = true;
            return -1;
        }
        if (left != UNTIL_CLOSE) {
            left -= count;
            ended = !chunked && left == 0;
        }
        return count;
    }

    private void nextChunk() throws IOException {
        if (begun && !source.line().isEmpty()) {
            throw new IOException("a chunk of the answer is longer than told");
        }
        begun = true;
        String size = source.line().split(";", 2)[0].strip();
        try {
            left = Long.parseLong(size, HEXADECIMAL);
        } catch (NumberFormatException problem) {
            throw new IOException("a chunk of the answer has no size");
        }
        if (left < 0) {
            throw new IOException("a chunk of the answer has no size");
        }
        if (left == 0) {
            while (!source.line().isEmpty()) {
                // trailers say nothing that is needed
            }
            ended = true;
        }
    }
}
