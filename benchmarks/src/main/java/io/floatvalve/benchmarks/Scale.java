package io.floatvalve.benchmarks;

import java.util.List;
import picocli.CommandLine.Option;

/** How much to run. */
final class Scale {
  @Option(names = "--pairs", defaultValue = "9", description = "counted runs of Floatvalve")
  private int pairs;

  @Option(names = "--warmup", defaultValue = "2", description = "pairs not counted, in races")
  private int warmup;

  @Option(
      names = "--references",
      defaultValue = "3",
      description = "runs of the plain client where it is no race")
  private int references;

  @Option(names = "--share", defaultValue = "1", description = "of the usual backlog, in races")
  private double share;

  @Option(names = "--cases", defaultValue = "", description = "only cases whose name holds this")
  private String cases = "";

  /** Returns the counted runs of Floatvalve, and in a race of the plain client. */
  int pairs() {
    return pairs;
  }

  /** Returns the runs of a race that are not counted. */
  int warmup() {
    return warmup;
  }

  /** Returns this share of so many messages. */
  int of(int messages) {
    return (int) (share * messages);
  }

  /** Returns whether a case is wanted. */
  boolean wants(String name) {
    return name.contains(cases);
  }

  /** Returns which sides run in this round, where it is no race. */
  List<Contestant.Side> sides(int round) {
    return round < references
        ? List.of(Contestant.Side.PLAIN, Contestant.Side.FLOATVALVE)
        : List.of(Contestant.Side.FLOATVALVE);
  }
}
