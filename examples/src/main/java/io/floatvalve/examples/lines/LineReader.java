package io.floatvalve.examples.lines;

import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import org.jspecify.annotations.Nullable;

/**
 * Reads lines as bytes, one at a time, so that what is published is what stands in the file. A line
 * ends at LF or CR LF; the last one may lack its end. Not thread-safe.
 */
public final class LineReader implements Closeable {
  private static final int BUFFER_BYTES = 1 << 16;

  private final InputStream in;
  private final int longest;
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private int at;
  private int end;
  private long number;

  /**
   * Begins at line 1.
   *
   * @param longest what of a line is kept, in bytes; the rest of a longer line is skipped
   */
  public LineReader(InputStream in, int longest) {
    this.in = in;
    this.longest = longest;
  }

  /** Returns the next line, or null at the end. */
  public @Nullable Line next() throws IOException {
    ByteArrayOutputStream line = new ByteArrayOutputStream(128);
    long length = 0;
    boolean any = false;
    while (true) {
      if (at == end) {
        at = 0;
        end = Math.max(0, in.read(buffer));
        if (end == 0) {
          return any ? line(line, length) : null;
        }
      }
      any = true;
      int lf = at;
      while (lf < end && buffer[lf] != '\n') {
        lf++;
      }
      int room = (int) Math.min(lf - at, Math.max(0L, longest + 1L - line.size()));
      line.write(buffer, at, room);
      length += lf - at;
      at = lf;
      if (lf < end) {
        at++;
        return line(line, length);
      }
    }
  }

  private Line line(ByteArrayOutputStream kept, long length) {
    byte[] bytes = kept.toByteArray();
    long without = length;
    if (length == bytes.length && length > 0 && bytes[bytes.length - 1] == '\r') {
      bytes = java.util.Arrays.copyOf(bytes, bytes.length - 1);
      without--;
    }
    number++;
    return new Line(number, bytes, without > longest);
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
