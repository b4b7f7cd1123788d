package io.floatvalve.examples.lines;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.util.MinimalPrettyPrinter;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.floatvalve.examples.cli.CannotRun;
import io.floatvalve.publish.PublishOutcome;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The outcome of every line, one JSON object a line, in the order they came about.
 *
 * <p>{@code {"run":{…}}} begins a run. {@code {"upTo":N}} is written, and handed to the system,
 * before any line after the previous such number is given to a publisher: whatever kills the
 * process, lines beyond the last one were not sent. {@code {"line":7,"fate":"CONFIRMED",…}} is an
 * outcome. {@code {"end":{…}}} ends a run that ended in order. Thread-safe.
 */
public final class ResultsFile implements Closeable {
  /** How many lines one {@code upTo} covers. */
  public static final long AHEAD = 1_000;

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final JsonFactory FACTORY = JSON.getFactory();

  private final Path path;
  private final BufferedWriter file;
  private final JsonGenerator to;
  private @Nullable IOException failure; // guarded by this

  private ResultsFile(Path path, BufferedWriter file) throws IOException {
    this.path = path;
    this.file = file;
    this.to = FACTORY.createGenerator(file);
    to.setPrettyPrinter(new MinimalPrettyPrinter("\n"));
  }

  /**
   * What a run was asked to do.
   *
   * @param broker such as {@code rabbit}
   * @param to the address as it was given
   * @param from the file as it was given, or {@code -}
   * @param format of its lines
   * @param bytes the file's size when the run began, or -1
   * @param tries lines of which fate it tries
   */
  public record Run(
      String broker, String to, String from, LineFormat format, long bytes, Set<Fate> tries) {
    public Run {
      tries = Set.copyOf(tries);
    }
  }

  /**
   * What earlier runs left.
   *
   * @param run the first of them
   * @param fates of the lines they tried
   */
  public record Past(Run run, Fates fates) {}

  /** Begins a new file; never overwrites one. */
  public static ResultsFile create(Path path, Run run) throws IOException {
    Path folder = path.toAbsolutePath().getParent();
    if (folder != null) {
      Files.createDirectories(folder);
    }
    return open(path, run, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
  }

  /** Goes on with a file of earlier runs. */
  public static ResultsFile append(Path path, Run run) throws IOException {
    return open(path, run, StandardOpenOption.APPEND);
  }

  private static ResultsFile open(Path path, Run run, OpenOption... how) throws IOException {
    BufferedWriter file = Files.newBufferedWriter(path, StandardCharsets.UTF_8, how);
    ResultsFile results = new ResultsFile(path, file);
    if (Files.size(path) > 0) {
      file.write('\n'); // ends what a killed process may have left half written
    }
    ObjectNode begin = JSON.createObjectNode();
    ArrayNode tries =
        begin
            .putObject("run")
            .put("broker", run.broker())
            .put("to", run.to())
            .put("from", run.from())
            .put("format", run.format().name())
            .put("bytes", run.bytes())
            .putArray("tries");
    run.tries().forEach(fate -> tries.add(fate.name()));
    results.write(begin);
    results.flush();
    return results;
  }

  /** Reads what earlier runs left; lines that were begun and have no outcome are unknown. */
  public static Past read(Path path) throws IOException {
    Fates fates = new Fates();
    Run first = null;
    Run last = null; // until it ends in order
    Fates running = new Fates();
    long upTo = 0;
    try (BufferedReader lines = Files.newBufferedReader(path, StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode node = parse(line);
        if (node == null) {
          continue;
        }
        if (node.has("run")) {
          if (last != null) {
            inDoubt(last, fates, running, upTo);
          }
          running = new Fates();
          upTo = 0;
          last = run(node.get("run"));
          first = first == null ? last : first;
        } else if (node.has("upTo")) {
          upTo = Math.max(upTo, node.get("upTo").asLong());
        } else if (node.has("line") && node.has("fate")) {
          Fate fate = Fate.valueOf(node.get("fate").asText());
          long number = node.get("line").asLong();
          fates.add(number, fate);
          running.add(number, fate);
        } else if (node.has("end")) {
          last = null;
        }
      }
    } catch (IllegalArgumentException e) {
      throw new IOException("it is no results file: " + e.getMessage(), e);
    }
    if (first == null) {
      throw new IOException("it is no results file: it names no run");
    }
    if (last != null) {
      inDoubt(last, fates, running, upTo);
    }
    return new Past(first, fates);
  }

  /* A run that did not end in order may have sent every line that it had announced, that it was to
   * try, and that it left no outcome for. */
  private static void inDoubt(Run run, Fates fates, Fates running, long upTo) {
    for (long line = 1; line <= upTo; line++) {
      if (running.get(line) == Fate.UNTRIED && run.tries().contains(fates.get(line))) {
        fates.add(line, Fate.UNKNOWN);
      }
    }
  }

  private static @Nullable JsonNode parse(String line) {
    if (line.isBlank()) {
      return null;
    }
    try {
      return JSON.readTree(line);
    } catch (IOException e) {
      return null; // half a line, where a process was killed
    }
  }

  private static Run run(JsonNode node) {
    Set<Fate> tries = EnumSet.noneOf(Fate.class);
    node.path("tries").forEach(fate -> tries.add(Fate.valueOf(fate.asText())));
    return new Run(
        node.path("broker").asText(),
        node.path("to").asText(),
        node.path("from").asText(),
        LineFormat.valueOf(node.path("format").asText()),
        node.path("bytes").asLong(-1),
        tries);
  }

  /** Returns where it lies. */
  public Path path() {
    return path;
  }

  /** Announces that lines up to this one may be sent from now on. */
  public synchronized void upTo(long line) {
    write(JSON.createObjectNode().put("upTo", line));
    flush();
  }

  /** Adds the outcome of a line. */
  public synchronized void outcome(long line, PublishOutcome outcome) {
    try {
      to.writeStartObject();
      to.writeNumberField("line", line);
      to.writeStringField("fate", Fate.of(outcome).name());
      if (outcome.attempts() != 1) {
        to.writeNumberField("attempts", outcome.attempts());
      }
      if (outcome instanceof PublishOutcome.Confirmed confirmed) {
        to.writeNumberField("latency_us", confirmed.latency().toNanos() / 1_000);
      } else {
        to.writeStringField("why", why(outcome));
      }
      to.writeEndObject();
    } catch (IOException e) {
      failed(e);
    }
  }

  /** Says why a message was not confirmed. */
  public static String why(PublishOutcome outcome) {
    if (outcome instanceof PublishOutcome.Returned r) {
      return r.replyCode() + " " + r.replyText() + ", key '" + r.routingKey() + "'";
    }
    if (outcome instanceof PublishOutcome.Nacked n) {
      return n.reason() == null ? "the broker gave no reason" : n.reason();
    }
    if (outcome instanceof PublishOutcome.Unknown u) {
      return u.cause() + ": " + u.detail();
    }
    if (outcome instanceof PublishOutcome.NotSent n) {
      return n.reason() + ": " + n.detail();
    }
    return "";
  }

  /** Ends the run in order. */
  public synchronized void end(Tally tally) {
    ObjectNode end = JSON.createObjectNode();
    ObjectNode counts = end.putObject("end");
    tally.counts().forEach((fate, count) -> counts.put(fate.name(), count));
    write(end);
    flush();
  }

  private synchronized void write(ObjectNode node) {
    try {
      to.writeTree(node);
    } catch (IOException e) {
      failed(e);
    }
  }

  /** Hands what was written to the system. */
  public synchronized void flush() {
    try {
      to.flush();
      file.flush();
    } catch (IOException e) {
      failed(e);
    }
  }

  private synchronized void failed(IOException e) {
    if (failure == null) {
      failure = e;
    }
  }

  /** Ends the command if something could not be written. */
  public synchronized void check() {
    if (failure != null) {
      throw CannotRun.badInput(
          "--results", path, "cannot be written: " + CannotRun.whyNoFile(failure));
    }
  }

  @Override
  public synchronized void close() throws IOException {
    to.close();
    file.close();
  }
}
