package io.floatvalve.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The processes of one broker: ends them, and keeps their ids in a file beside this JVM's, so that
 * another JVM can end them if this one is killed. A process is known by its id and its start
 * instant, so that nobody else's is ever ended after an id was used again. Thread-safe.
 */
final class OwnedProcesses {
  private static final String SUFFIX = ".processes";

  private final Path file;
  private final Path folder;
  private final List<ProcessHandle> owned = new CopyOnWriteArrayList<>();
  private volatile @Nullable ProcessHandle leader;

  OwnedProcesses(Path scratch, Path folder) throws IOException {
    Files.createDirectories(scratch);
    this.file = scratch.resolve(folder.getFileName() + SUFFIX);
    this.folder = folder;
    write();
  }

  /** Adds a process to those that end together. */
  void own(ProcessHandle process) {
    owned.add(process);
    write();
  }

  /** Names the process that is asked to end in an orderly way; the others end with it. */
  void lead(ProcessHandle process) {
    leader = process;
  }

  Stream<ProcessHandle> alive() {
    return owned.stream().filter(ProcessHandle::isAlive);
  }

  /** Asks the leader to end, waits for it, then ends the rest. */
  void end(Duration limit) {
    ProcessHandle first = leader;
    if (first != null && first.isAlive()) {
      first.destroy();
      await(first, limit);
    }
    endNow();
  }

  /** Kills all with their children, the leader first, and waits until they are gone. */
  void endNow() {
    ProcessHandle first = leader;
    List<ProcessHandle> all = new ArrayList<>();
    if (first != null) {
      all.add(first);
    }
    owned.forEach(process -> process.descendants().forEach(all::add));
    all.addAll(owned);
    all.forEach(ProcessHandle::destroyForcibly);
    all.forEach(process -> await(process, Duration.ofSeconds(10)));
    owned.clear();
    leader = null;
    write();
  }

  /** Deletes the file: there is nothing left to end. */
  void forget() {
    try {
      Files.deleteIfExists(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Ends the processes, and deletes the folders, of brokers whose JVM has ended before them. */
  static void endOrphans(Path scratch) {
    if (!Files.isDirectory(scratch)) {
      return;
    }
    try (Stream<Path> files = Files.list(scratch)) {
      for (Path left : files.filter(f -> f.toString().endsWith(SUFFIX)).toList()) {
        endOrphan(left);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void endOrphan(Path left) throws IOException {
    List<String> lines;
    try {
      lines = Files.readAllLines(left);
    } catch (IOException e) {
      return; // its owner has deleted it meanwhile
    }
    if (lines.size() < 2 || find(lines.get(0)).isPresent()) {
      return;
    }
    lines.stream()
        .skip(2)
        .map(OwnedProcesses::find)
        .flatMap(Optional::stream)
        .forEach(
            process -> {
              process.descendants().forEach(ProcessHandle::destroyForcibly);
              process.destroyForcibly();
              await(process, Duration.ofSeconds(10));
            });
    Path folder = Path.of(lines.get(1));
    if (Files.isDirectory(folder)) {
      try (Stream<Path> content = Files.walk(folder)) {
        content.sorted(Comparator.reverseOrder()).forEach(f -> f.toFile().delete());
      }
    }
    Files.deleteIfExists(left);
  }

  private void write() {
    List<String> lines = new ArrayList<>();
    lines.add(name(ProcessHandle.current()));
    lines.add(folder.toString());
    owned.forEach(process -> lines.add(name(process)));
    try {
      Path draft = Files.createTempFile(file.getParent(), "processes", ".draft");
      Files.write(draft, lines);
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String name(ProcessHandle process) {
    return process.pid()
        + " "
        + process.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
  }

  private static Optional<ProcessHandle> find(String name) {
    return ProcessHandle.of(Long.parseLong(name.substring(0, name.indexOf(' '))))
        .filter(process -> name(process).equals(name));
  }

  private static void await(ProcessHandle process, Duration limit) {
    try {
      process.onExit().get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException e) {
      // it is killed next, or it is not ours to kill
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
