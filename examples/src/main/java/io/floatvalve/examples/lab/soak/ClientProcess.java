package io.floatvalve.examples.lab.soak;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One life of the {@link SoakClient}, in a JVM of its own, which ends with this one. */
final class ClientProcess implements AutoCloseable {
  private static final Duration ANSWER = Duration.ofSeconds(30);

  private final Process process;
  private final Journal.Reader reader; // guarded by this
  private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();
  private boolean over; // guarded by this

  /**
   * Starts one.
   *
   * @param stem of the names of its journal's files
   * @param given what {@link SoakClient} takes
   * @param told hears what it says of itself, on a thread of this class
   */
  ClientProcess(Path stem, Map<String, String> given, Consumer<String> told) throws IOException {
    List<String> line = new ArrayList<>();
    line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    line.addAll(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    line.addAll(List.of("-cp", System.getProperty("java.class.path"), SoakClient.class.getName()));
    line.add("journal=" + stem);
    given.forEach((name, value) -> line.add(name + "=" + value));
    reader = new Journal.Reader(stem);
    process =
        new ProcessBuilder(line)
            .redirectError(
                ProcessBuilder.Redirect.appendTo(stem.resolveSibling("client.err").toFile()))
            .start();
    Thread listener = new Thread(() -> listen(told), "soak-client-output");
    listener.setDaemon(true);
    listener.start();
  }

  private void listen(Consumer<String> told) {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line; (line = lines.readLine()) != null; ) {
        if (line.startsWith("error ") || line.startsWith("event ")) {
          told.accept(line);
        } else {
          answers.add(line);
        }
      }
    } catch (IOException e) {
      told.accept("its output ended: " + e.getMessage());
    }
  }

  boolean isAlive() {
    return process.isAlive();
  }

  /** Tells it something. Does nothing if it has ended. */
  void tell(String line) {
    try {
      BufferedWriter writer = process.outputWriter(StandardCharsets.UTF_8);
      writer.write(line + "\n");
      writer.flush();
    } catch (IOException e) {
      // it has ended, which whoever waits for it sees
    }
  }

  /**
   * Waits for it to say something that begins with a word, and returns the rest, or null if it ends
   * or says nothing of the kind.
   */
  @Nullable String await(String word, Duration limit) throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (true) {
      String line = answers.poll(100, TimeUnit.MILLISECONDS);
      if (line == null) {
        if (System.nanoTime() > deadline || (!isAlive() && answers.isEmpty())) {
          return null;
        }
      } else if (line.equals(word) || line.startsWith(word + " ")) {
        return line.substring(word.length()).strip();
      }
    }
  }

  /** Asks it how it stands; null if it does not say. */
  @Nullable String stand() throws InterruptedException {
    tell("stand");
    return await("stand", ANSWER);
  }

  /** Reads its journal to where it is now. */
  synchronized void read(Journal.Sink sink) {
    if (!over) {
      int unused = reader.read(sink, false);
    }
  }

  /** Reads the rest of the journal of a process that has ended. */
  synchronized void readRest(Journal.Sink sink) {
    int unused = reader.read(sink, true);
    over = true;
  }

  /** Sends it a signal such as STOP. */
  void signal(String name) {
    try {
      Process kill =
          new ProcessBuilder("/bin/sh", "-c", "kill -" + name + " " + process.pid()).start();
      if (kill.waitFor() != 0) {
        throw new IllegalStateException("SIG" + name + " could not be sent to the client");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while sending SIG" + name, e);
    }
  }

  /** Kills it with SIGKILL and waits until it is gone. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  /** Waits for it to end by itself; says whether it has, and well. */
  boolean awaitEnd(Duration limit) throws InterruptedException {
    return process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS) && process.exitValue() == 0;
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
