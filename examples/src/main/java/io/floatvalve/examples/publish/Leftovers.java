package io.floatvalve.examples.publish;

import io.floatvalve.examples.lines.Fate;
import io.floatvalve.examples.lines.Line;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the lines that were not confirmed, in files of their own beside the results: what can be
 * repeated safely apart from what may be stored already. A file comes about with its first line.
 * Thread-safe.
 */
final class Leftovers implements AutoCloseable {
  /** The files there are. */
  enum Kind {
    /** Publishing these again is safe. */
    NOT_SENT("not-sent"),
    /** Publishing these again may store them twice. */
    MAY_DUPLICATE("may-duplicate"),
    /** Publishing these again fails again, until something else has changed. */
    FUTILE("futile");

    private final String suffix;

    Kind(String suffix) {
      this.suffix = suffix;
    }

    private static @Nullable Kind of(Fate fate) {
      return switch (fate) {
        case UNTRIED, CONFIRMED -> null;
        case NOT_SENT -> NOT_SENT;
        case UNKNOWN, NACKED -> MAY_DUPLICATE;
        case RETURNED, UNFIT -> FUTILE;
      };
    }
  }

  private final Path results;
  private final Map<Kind, OutputStream> open = new LinkedHashMap<>(); // guarded by this
  private @Nullable IOException failure; // guarded by this

  /**
   * Begins without files; those of an earlier run are removed.
   *
   * @param results beside which they lie
   */
  Leftovers(Path results) throws IOException {
    this.results = results;
    for (Kind kind : Kind.values()) {
      Files.deleteIfExists(file(kind));
    }
  }

  /** Keeps a line, if its fate asks for it. */
  synchronized void keep(Line line, Fate fate) {
    Kind kind = Kind.of(fate);
    if (kind == null || line.tooLong()) {
      return; // of a line that is too long only the beginning is here
    }
    try {
      OutputStream to = open.get(kind);
      if (to == null) {
        to = new BufferedOutputStream(Files.newOutputStream(file(kind)));
        open.put(kind, to);
      }
      to.write(line.bytes());
      to.write('\n');
    } catch (IOException e) {
      failure = failure == null ? e : failure;
    }
  }

  private Path file(Kind kind) {
    return results.resolveSibling(results.getFileName() + "." + kind.suffix);
  }

  /** Closes the files and returns them. */
  synchronized Map<Kind, Path> finish() throws IOException {
    close();
    if (failure != null) {
      throw failure;
    }
    Map<Kind, Path> files = new LinkedHashMap<>();
    for (Kind kind : Kind.values()) {
      if (open.containsKey(kind)) {
        files.put(kind, file(kind));
      }
    }
    return files;
  }

  @Override
  public synchronized void close() {
    for (OutputStream each : open.values()) {
      try {
        each.close();
      } catch (IOException e) {
        failure = failure == null ? e : failure;
      }
    }
  }
}
