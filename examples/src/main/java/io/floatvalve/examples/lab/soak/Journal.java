package io.floatvalve.examples.lab.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * What a process says of its messages, in the order in which it happened, for another process to
 * read meanwhile. It is all there when the writer is killed. Thread-safe; writing takes no lock.
 */
final class Journal {
  /*
   * Files of equal size, mapped into memory: what is written is with the system at once, without a
   * call. An entry is one long, so that it is there or not, and zero is none: a thread takes the
   * next place first and writes then, so the reader waits at a place that is still empty. Only a
   * writer that was killed leaves one empty for good.
   */
  private static final int SHIFT = 20;
  private static final int ENTRIES = 1 << SHIFT;
  private static final int MOST_CHUNKS = 1 << 12;
  private static final int DETAIL_BITS = 24;
  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  /** The greatest detail that an entry holds. */
  static final int MAX_DETAIL = (1 << DETAIL_BITS) - 1;

  /** What happened to a message. */
  enum Kind {
    /** It is being published now. */
    INTENDED(1),
    /** A publish has ended; the detail holds verdict and time, see {@link Ending}. */
    OUTCOME(2),
    /** A publish has failed in a way that no publish should; no detail. */
    FAILED(3),
    /** A handler begins; the detail is 1 if the message may have been delivered before. */
    BEGUN(4),
    /** A settlement was taken; no detail. */
    SETTLED(5),
    /** A handler ends; the detail is 1 if it accepted the message, 0 if it threw. */
    HANDLED(6);

    final long code;

    Kind(long code) {
      this.code = code;
    }

    static Kind of(int code) {
      return switch (code) {
        case 1 -> INTENDED;
        case 2 -> OUTCOME;
        case 3 -> FAILED;
        case 4 -> BEGUN;
        case 5 -> SETTLED;
        case 6 -> HANDLED;
        default -> throw new IllegalArgumentException("no entry has the code " + code);
      };
    }
  }

  /** Hears the entries. */
  interface Sink {
    void entry(Kind kind, int id, int detail);
  }

  private final Path stem;
  private final AtomicLong next = new AtomicLong();
  private final AtomicReferenceArray<@Nullable ByteBuffer> chunks =
      new AtomicReferenceArray<>(MOST_CHUNKS);

  /**
   * Begins one.
   *
   * @param stem of the names of its files, none of which exists
   */
  Journal(Path stem) {
    this.stem = stem;
  }

  private static Path file(Path stem, int chunk) {
    return stem.resolveSibling(stem.getFileName() + "." + chunk);
  }

  /**
   * Writes an entry.
   *
   * @param detail from 0 to {@link #MAX_DETAIL}; a greater one is cut to that
   */
  void add(Kind kind, int id, int detail) {
    long at = next.getAndIncrement();
    ByteBuffer chunk = chunk((int) (at >>> SHIFT));
    long entry =
        kind.code << (Integer.SIZE + DETAIL_BITS)
            | (long) Math.min(detail, MAX_DETAIL) << Integer.SIZE
            | Integer.toUnsignedLong(id);
    LONGS.setRelease(chunk, (int) (at & (ENTRIES - 1)) * Long.BYTES, entry);
  }

  private ByteBuffer chunk(int number) {
    ByteBuffer there = chunks.get(number);
    return there == null ? open(number) : there;
  }

  private synchronized ByteBuffer open(int number) {
    ByteBuffer there = chunks.get(number);
    if (there != null) {
      return there;
    }
    try (FileChannel channel =
        FileChannel.open(
            file(stem, number),
            StandardOpenOption.CREATE,
            StandardOpenOption.READ,
            StandardOpenOption.WRITE)) {
      ByteBuffer mapped =
          channel
              .map(FileChannel.MapMode.READ_WRITE, 0, (long) ENTRIES * Long.BYTES)
              .order(ByteOrder.nativeOrder());
      chunks.set(number, mapped);
      return mapped;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Reads a journal from its beginning, and deletes its files behind it. Not thread-safe. */
  static final class Reader {
    private final Path stem;
    private int number;
    private int index;
    private @Nullable ByteBuffer chunk;

    /** Begins; the journal may not exist yet. */
    Reader(Path stem) {
      this.stem = stem;
    }

    /**
     * Reads all there is.
     *
     * @param over whether the writer has ended: then an empty place stays empty
     * @return how many entries there were
     */
    int read(Sink sink, boolean over) {
      int count = 0;
      while (true) {
        ByteBuffer here = chunk == null ? map() : chunk;
        if (here == null) {
          return count;
        }
        while (index < ENTRIES) {
          long entry = (long) LONGS.getAcquire(here, index * Long.BYTES);
          if (entry == 0 && !over) {
            return count;
          }
          index++;
          if (entry != 0) {
            count++;
            sink.entry(
                Kind.of((int) (entry >>> (Integer.SIZE + DETAIL_BITS))),
                (int) entry,
                (int) (entry >>> Integer.SIZE) & MAX_DETAIL);
          }
        }
        chunk = null;
        index = 0;
        delete(file(stem, number++));
      }
    }

    private @Nullable ByteBuffer map() {
      Path file = file(stem, number);
      long size = (long) ENTRIES * Long.BYTES;
      if (!Files.exists(file)) {
        return null;
      }
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
        if (channel.size() < size) {
          return null; // it is just being made
        }
        chunk = channel.map(FileChannel.MapMode.READ_ONLY, 0, size).order(ByteOrder.nativeOrder());
        return chunk;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private static void delete(Path file) {
      try {
        Files.deleteIfExists(file);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
