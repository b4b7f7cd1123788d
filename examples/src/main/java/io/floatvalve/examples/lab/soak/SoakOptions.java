package io.floatvalve.examples.lab.soak;

import io.floatvalve.examples.cli.CannotRun;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of a soak. */
public final class SoakOptions {
  private static final int DEFAULT_RATE = 2_000;
  private static final int DEFAULT_EVERY = 3;
  private static final long DEFAULT_SECONDS = 60;
  private static final int MOST_MESSAGES = 100_000_000;

  @Option(
      names = "--soak",
      description =
          "Instead of one fault after the other: faults at random, and a book of every message."
              + " The options below belong to it.")
  private boolean soak;

  @Option(names = "--seed", paramLabel = "S", description = "Of what is at random. Default: any.")
  private @Nullable Long seed;

  @Option(
      names = "--messages",
      paramLabel = "N",
      description = "How many; with --resume, in all runs together. Default: as --seconds allow.")
  private @Nullable Integer messages;

  @Option(
      names = "--seconds",
      paramLabel = "T",
      description = "How long. Default: 60, or as long as --messages take.")
  private @Nullable Long seconds;

  @Option(
      names = "--faults",
      paramLabel = "LIST",
      split = ",",
      description =
          "Which faults: rst, fin, cut (both), stall, latency, rate, slow, throw, pause,"
              + " client-kill, kill; on RabbitMQ alarm, channel, cancel, delete, and in a cluster"
              + " leader; on Pulsar unload, quota; or none. Default: all.")
  private @Nullable List<String> faults;

  @Option(
      names = "--every",
      paramLabel = "S",
      description = "Seconds between two faults, on average. Default: 3.")
  private @Nullable Double every;

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "Messages a second at most; 0 for as many as it goes. Default: 2000.")
  private @Nullable Integer rate;

  @Option(
      names = "--queue",
      paramLabel = "TYPE",
      description = "RabbitMQ: classic (default) or quorum, which a cluster always has.")
  private @Nullable String queue;

  @Option(
      names = "--nodes",
      paramLabel = "N",
      description = "RabbitMQ: 1 (default), or 3 for a cluster.")
  private @Nullable Integer nodes;

  @Option(
      names = "--resume",
      paramLabel = "FILE",
      description = "Adds this run to those in the file, which need not exist yet.")
  private @Nullable Path resume;

  @Option(names = "--plant", hidden = true, description = "Has the client do something wrong.")
  private String plant = "";

  /** Returns whether a soak is wanted. */
  public boolean wanted() {
    boolean other =
        seed != null
            || messages != null
            || seconds != null
            || faults != null
            || every != null
            || rate != null
            || queue != null
            || nodes != null
            || resume != null;
    if (other && !soak) {
      throw CannotRun.badInput("options of --soak without it");
    }
    return soak;
  }

  @Nullable Long seed() {
    return seed;
  }

  int messages() {
    Integer given = messages;
    if (given == null) {
      return MOST_MESSAGES;
    }
    if (given < 1 || given > MOST_MESSAGES) {
      throw CannotRun.badInput("--messages", given, "must be from 1 to " + MOST_MESSAGES);
    }
    return given;
  }

  Duration limit() {
    Long given = seconds;
    if (given == null) {
      return messages == null ? Duration.ofSeconds(DEFAULT_SECONDS) : Duration.ofDays(1);
    }
    if (given < 1 || given > 86_400) {
      throw CannotRun.badInput("--seconds", given, "must be from 1 to 86400");
    }
    return Duration.ofSeconds(given);
  }

  @Nullable List<String> faults() {
    return faults;
  }

  Duration every() {
    double given = every == null ? DEFAULT_EVERY : every;
    if (!(given >= 0.1 && given <= 3_600)) {
      throw CannotRun.badInput("--every", given, "must be from 0.1 to 3600");
    }
    return Duration.ofMillis(Math.round(given * 1_000));
  }

  int rate() {
    int given = rate == null ? DEFAULT_RATE : rate;
    if (given < 0 || given > 1_000_000) {
      throw CannotRun.badInput("--rate", given, "must be from 0 to 1000000");
    }
    return given;
  }

  int nodes() {
    int given = nodes == null ? 1 : nodes;
    if (given != 1 && given != 3) {
      throw CannotRun.badInput("--nodes", given, "must be 1 or 3");
    }
    return given;
  }

  boolean quorum() {
    String given = queue == null ? nodes() == 1 ? "classic" : "quorum" : queue;
    return switch (given) {
      case "classic" -> {
        if (nodes() > 1) {
          throw CannotRun.badInput("--queue", given, "a cluster is soaked with quorum queues");
        }
        yield false;
      }
      case "quorum" -> true;
      default -> throw CannotRun.badInput("--queue", given, "must be classic or quorum");
    };
  }

  @Nullable Path resume() {
    return resume;
  }

  String plant() {
    return plant;
  }
}
