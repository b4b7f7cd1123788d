package io.floatvalve.latency;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.jspecify.annotations.Nullable;

/**
 * Writes latencies interval by interval to files that the tools of HdrHistogram read.
 *
 * <p>An interval log, {@code NAME-0001.hlog}, gets one line for each stage that had samples in the
 * interval, tagged {@code SOURCE.STAGE}; values are nanoseconds. An interval is written at once and
 * by one call, so that what is lost when the process is killed is the last interval. A file that
 * would grow beyond the bound is followed by the next, which can be read alone; of more than the
 * bound on their number the oldest is deleted. Closing writes each stage's whole distribution
 * beside them, {@code SOURCE.STAGE.hgrm}, in milliseconds.
 *
 * <p>An interval that cannot be written is not lost: its samples are in the next that can, and
 * {@link #failure} says why. Thread-safe. Asks its sources on a thread of its own.
 */
public final class LatencyLog implements AutoCloseable {
  private static final double NANOS_PER_MILLI = 1e6;
  private static final Pattern NOT_IN_A_TAG = Pattern.compile("[^A-Za-z0-9_.-]+");

  private final Settings settings;
  private final long openedMillis = System.currentTimeMillis();
  private final long openedNanos = System.nanoTime();
  private final ScheduledThreadPoolExecutor timer;
  // guarded by this, all below
  private final Map<String, Source> sources = new LinkedHashMap<>();
  private final NavigableMap<Integer, Path> files;
  private @Nullable RandomAccessFile file;
  private long fileBytes;
  private long headerBytes;
  private long lastNanos = openedNanos;
  private @Nullable IOException failure;
  private boolean closed;

  private LatencyLog(Settings settings) throws IOException {
    this.settings = settings;
    Files.createDirectories(settings.folder);
    this.files = existing(settings);
    roll();
    this.timer =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "floatvalve-latency-log");
              thread.setDaemon(true);
              return thread;
            });
    long nanos = settings.interval.toNanos();
    var unused = timer.scheduleAtFixedRate(this::tick, nanos, nanos, TimeUnit.NANOSECONDS);
  }

  /**
   * Begins a log in a new file. Files of earlier logs of that name stay, and count among those that
   * are kept.
   *
   * @throws IOException if the file cannot be made
   */
  public static LatencyLog open(Settings settings) throws IOException {
    return new LatencyLog(settings);
  }

  /**
   * Logs the latencies of a publisher or consumer from now on.
   *
   * @param source first part of the tag, such as the name of a queue; what a tag cannot hold
   *     becomes {@code _}
   * @param latency such as {@code publisher::latency}; asked once an interval, must not block
   * @throws IllegalArgumentException if there is a source of that name
   */
  public void watch(String source, Supplier<LatencySnapshot> latency) {
    watch(source, latency.get(), latency);
  }

  /**
   * Logs the latencies of a publisher or consumer as {@link #watch(String, Supplier)}, from an
   * earlier moment on.
   *
   * @param from of the same: what came after it is logged
   * @throws IllegalArgumentException if there is a source of that name
   */
  public synchronized void watch(
      String source, LatencySnapshot from, Supplier<LatencySnapshot> latency) {
    String name = NOT_IN_A_TAG.matcher(source).replaceAll("_");
    if (sources.putIfAbsent(name, new Source(from, latency)) != null) {
      throw new IllegalArgumentException("there is a source '" + name + "' already");
    }
  }

  /** Returns why the last interval could not be written, or empty if it was. */
  public synchronized Optional<IOException> failure() {
    return Optional.ofNullable(failure);
  }

  /** Returns the files written so far that are kept, the oldest first. */
  public synchronized List<Path> files() {
    return List.copyOf(files.values());
  }

  private void tick() {
    try {
      flush();
    } catch (IOException e) {
      // kept as the failure; the samples are in the next interval
    }
  }

  /**
   * Ends the interval now and writes it. Waits for the file system.
   *
   * @throws IOException if it cannot be written; the next one then holds its samples, too
   */
  public synchronized void flush() throws IOException {
    if (closed) {
      return;
    }
    try {
      write();
      failure = null;
    } catch (IOException e) {
      failure = e;
      throw e;
    } catch (RuntimeException e) { // a source that fails
      failure = new IOException("a source failed", e);
      throw failure;
    }
  }

  private void write() throws IOException { // holds the lock
    long now = System.nanoTime();
    Map<Source, LatencySnapshot> seen = new LinkedHashMap<>();
    var bytes = new ByteArrayOutputStream();
    HistogramLogWriter writer = new HistogramLogWriter(bytes);
    writer.setBaseTime(openedMillis);
    sources.forEach((name, source) -> seen.put(source, source.write(name, writer, now)));
    if (bytes.size() > 0) {
      if (fileBytes > headerBytes && fileBytes + bytes.size() > settings.maxFileBytes) {
        roll();
      }
      append(bytes.toByteArray());
    }
    seen.forEach((source, snapshot) -> source.before = snapshot);
    lastNanos = now;
  }

  private long millis(long nanos) {
    return openedMillis + TimeUnit.NANOSECONDS.toMillis(nanos - openedNanos);
  }

  /** Begins the next file; holds the lock. */
  private void roll() throws IOException {
    int number = files.isEmpty() ? 1 : files.lastKey() + 1;
    Path path = settings.folder.resolve(settings.file(number));
    Files.createFile(path);
    RandomAccessFile next = new RandomAccessFile(path.toFile(), "rw");
    RandomAccessFile last = file;
    file = next;
    fileBytes = 0;
    files.put(number, path);
    if (last != null) {
      last.close();
    }
    var bytes = new ByteArrayOutputStream();
    HistogramLogWriter writer = new HistogramLogWriter(bytes);
    writer.outputComment("[Latencies in nanoseconds; the column of maxima is in milliseconds]");
    writer.outputLogFormatVersion();
    writer.outputStartTime(openedMillis);
    writer.outputBaseTime(openedMillis);
    writer.outputLegend();
    append(bytes.toByteArray());
    headerBytes = fileBytes;
    while (files.size() > settings.maxFiles) {
      Files.deleteIfExists(files.firstEntry().getValue());
      files.pollFirstEntry();
    }
  }

  /** Writes all of it, or leaves the file as it was. */
  private void append(byte[] bytes) throws IOException {
    RandomAccessFile to = Objects.requireNonNull(file); // a channel would be closed by an interrupt
    try {
      to.seek(fileBytes);
      to.write(bytes);
      fileBytes += bytes.length;
    } catch (IOException e) {
      try {
        to.setLength(fileBytes);
      } catch (IOException again) {
        e.addSuppressed(again);
      }
      throw e;
    }
  }

  private static NavigableMap<Integer, Path> existing(Settings settings) throws IOException {
    Pattern name = Pattern.compile(Pattern.quote(settings.name) + "-(\\d{4,9})\\.hlog");
    NavigableMap<Integer, Path> found = new TreeMap<>();
    try (Stream<Path> all = Files.list(settings.folder)) {
      all.forEach(
          path -> {
            Matcher matcher = name.matcher(path.getFileName().toString());
            if (matcher.matches()) {
              found.put(Integer.valueOf(matcher.group(1)), path);
            }
          });
    }
    return found;
  }

  /**
   * Writes the last interval and the whole distributions. Closing again does nothing.
   *
   * @throws IOException if they cannot be written; it is closed all the same
   */
  @Override
  public void close() throws IOException {
    timer.shutdown();
    synchronized (this) {
      if (closed) {
        return;
      }
      try {
        flush();
        for (var source : sources.entrySet()) {
          writeWhole(source.getKey(), source.getValue());
        }
      } finally {
        closed = true;
        RandomAccessFile last = file;
        if (last != null) {
          last.close();
        }
      }
    }
  }

  private void writeWhole(String name, Source source) throws IOException {
    for (var stage : source.before.since(source.begun).stages().entrySet()) {
      var bytes = new ByteArrayOutputStream();
      try (var to = new PrintStream(bytes, false, StandardCharsets.UTF_8)) {
        stage.getValue().histogram().outputPercentileDistribution(to, NANOS_PER_MILLI);
      }
      Files.write(
          settings.folder.resolve(name + "." + stage.getKey() + ".hgrm"), bytes.toByteArray());
    }
  }

  /** One publisher or consumer. */
  private final class Source {
    private final Supplier<LatencySnapshot> latency;
    private final LatencySnapshot begun;
    private LatencySnapshot before;

    private Source(LatencySnapshot from, Supplier<LatencySnapshot> latency) {
      this.latency = latency;
      this.begun = from;
      this.before = from;
    }

    /** Writes what came since the last time; returns how it stands now. */
    private LatencySnapshot write(String name, HistogramLogWriter to, long now) {
      LatencySnapshot seen = latency.get();
      seen.since(before)
          .stages()
          .forEach(
              (stage, samples) -> {
                String tag = name + "." + stage;
                if (samples.count() > 0) {
                  Histogram interval = samples.histogram();
                  interval.setTag(tag);
                  interval.setStartTimeStamp(millis(lastNanos));
                  interval.setEndTimeStamp(millis(now));
                  to.outputIntervalHistogram(interval);
                }
                comment(to, tag, "negative", samples.negative());
                comment(to, tag, "clamped", samples.clamped());
              });
      comment(to, name, "oldest unsettled, in ms", seen.oldestUnsettled().toMillis());
      return seen;
    }

    private static void comment(HistogramLogWriter to, String tag, String what, long value) {
      if (value > 0) {
        to.outputComment("[" + tag + ": " + what + ": " + value + "]");
      }
    }
  }

  /** Where a log is written, and how much of it. Immutable. */
  public static final class Settings {
    private final Path folder;
    private final String name;
    private final Duration interval;
    private final long maxFileBytes;
    private final int maxFiles;

    private Settings(Path folder, String name, Duration interval, long maxFileBytes, int maxFiles) {
      this.folder = Objects.requireNonNull(folder, "folder");
      this.name = name;
      this.interval = interval;
      this.maxFileBytes = maxFileBytes;
      this.maxFiles = maxFiles;
      if (name.isEmpty() || NOT_IN_A_TAG.matcher(name).find()) {
        throw new IllegalArgumentException(
            "name must be of letters, digits, '.', '_' and '-', was '" + name + "'");
      }
      if (interval.compareTo(Duration.ofMillis(10)) < 0
          || interval.compareTo(Duration.ofDays(1)) > 0) {
        throw new IllegalArgumentException("interval must be from 10 ms to 1 day, was " + interval);
      }
      if (maxFileBytes < 1 << 10) {
        throw new IllegalArgumentException(
            "maxFileBytes must be at least 1,024, was " + maxFileBytes);
      }
      if (maxFiles < 1) {
        throw new IllegalArgumentException("maxFiles must be at least 1, was " + maxFiles);
      }
    }

    /**
     * Returns settings for a log named {@code latency}.
     *
     * @param folder made if it is missing
     */
    public static Settings in(Path folder) {
      return new Settings(folder, "latency", Duration.ofSeconds(1), 16L << 20, 8);
    }

    /** Sets how its files' names begin: letters, digits, dots, dashes and underscores. */
    public Settings withName(String name) {
      return new Settings(folder, name, interval, maxFileBytes, maxFiles);
    }

    /** Sets how long an interval is: from 10 ms to 1 day, 1 s by default. */
    public Settings withInterval(Duration interval) {
      return new Settings(folder, name, interval, maxFileBytes, maxFiles);
    }

    /**
     * Sets how large a file may grow, unless one interval alone is larger: at least 1,024 bytes, 16
     * MiB by default, which is some hours of ten stages at one line a second each.
     */
    public Settings withMaxFileBytes(long maxFileBytes) {
      return new Settings(folder, name, interval, maxFileBytes, maxFiles);
    }

    /** Sets how many files are kept, the one in use among them: at least 1, 8 by default. */
    public Settings withMaxFiles(int maxFiles) {
      return new Settings(folder, name, interval, maxFileBytes, maxFiles);
    }

    private String file(int number) {
      return String.format(Locale.ROOT, "%s-%04d.hlog", name, number);
    }
  }
}
