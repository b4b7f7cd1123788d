package io.floatvalve.explain;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * Why a consumer or a publisher is as it is: what is wrong, the cause before its consequences, and
 * what was seen at each stage of the chain from the handler to the broker's disk.
 *
 * <p>A value. It holds names of queues, keys and ids of messages; no payload and no secret.
 *
 * @param who what it is about, in words
 * @param broker what and where its broker is
 * @param state how it stands, whether or not something is wrong
 * @param findings what is wrong, the most likely cause first; empty where all is well
 * @param chain what was seen at each stage, in the order in which to look; empty where it is about
 *     several at once
 * @param parts those it is about, if several; else empty
 */
public record Explanation(
    String who,
    String broker,
    State state,
    List<Finding> findings,
    List<Step> chain,
    List<Explanation> parts) {

  /** How it stands. */
  public enum State {
    /** Messages move. */
    FLOWING,
    /**
     * Nothing moves and, as far as can be told, nothing is there to be moved. A consumer of which
     * the broker was not asked may also be held by it: its chain says so.
     */
    IDLE,
    /** Nothing moves and there is work. */
    STALLED,
    /** The application has not begun, or has paused it. */
    WAITING,
    /** There is no way to the broker. */
    DISCONNECTED,
    /** It is closing or closed. */
    ENDING
  }

  /**
   * What was seen at a stage.
   *
   * @param stage where
   * @param seen the numbers, in words
   */
  public record Step(Stage stage, String seen) {}

  /** Copies the lists. */
  public Explanation {
    findings = List.copyOf(findings);
    chain = List.copyOf(chain);
    parts = List.copyOf(parts);
  }

  /** Explains a consumer. A pure function of what is known of it. */
  public static Explanation of(ConsumerSnapshot snapshot) {
    return new Explanation(
        snapshot.who(),
        snapshot.broker(),
        ConsumerRules.state(snapshot),
        ConsumerRules.find(snapshot),
        ConsumerRules.chain(snapshot),
        List.of());
  }

  /** Explains a publisher. A pure function of what is known of it. */
  public static Explanation of(PublisherSnapshot snapshot) {
    return new Explanation(
        snapshot.who(),
        snapshot.broker(),
        PublisherRules.state(snapshot),
        PublisherRules.find(snapshot),
        PublisherRules.chain(snapshot),
        List.of());
  }

  /** Sums up several of one broker: the worst state, and all findings, the surest first. */
  public static Explanation together(String broker, List<Explanation> parts) {
    List<Finding> all = new ArrayList<>();
    parts.forEach(each -> all.addAll(each.findings));
    all.sort(Comparator.comparing(Finding::certainty));
    State worst =
        parts.stream()
            .map(Explanation::state)
            .max(Comparator.comparingInt(Explanation::weight))
            .orElse(State.IDLE);
    return new Explanation(
        parts.size() + " publishers and consumers", broker, worst, all, List.of(), parts);
  }

  private static int weight(State state) {
    return switch (state) {
      case ENDING -> 0;
      case WAITING -> 1;
      case IDLE -> 2;
      case FLOWING -> 3;
      case STALLED -> 4;
      case DISCONNECTED -> 5;
    };
  }

  /** Returns whether nothing is wrong. */
  public boolean isHealthy() {
    return findings.isEmpty();
  }

  /** Returns it in one line, for a log. */
  public String line() {
    StringBuilder line = new StringBuilder(who).append(": ").append(words(state));
    for (Finding each : findings) {
      line.append("; ")
          .append(each.what())
          .append(" (")
          .append(words(each.certainty()))
          .append(')');
    }
    return line.toString();
  }

  /** Returns all of it in some lines, for a support ticket. */
  public String text() {
    StringBuilder text = new StringBuilder();
    append(text);
    return text.toString();
  }

  private void append(StringBuilder text) {
    text.append(who).append(", ").append(broker).append(": ").append(words(state));
    if (!parts.isEmpty()) {
      text.append(", ").append(findings.size()).append(" findings\n");
      parts.forEach(each -> each.append(text));
      return;
    }
    text.append(findings.isEmpty() ? ", nothing is wrong\n" : "\n");
    int number = 1;
    for (Finding each : findings) {
      text.append("  ")
          .append(number++)
          .append(". ")
          .append(each.what())
          .append(" [")
          .append(words(each.certainty()))
          .append(", ")
          .append(words(each.stage()))
          .append("]\n");
      each.evidence().forEach(line -> text.append("     - ").append(line).append('\n'));
      text.append("     > ").append(each.remedy()).append('\n');
    }
    for (Step each : chain) {
      text.append(String.format(Locale.ROOT, "  %-11s %s%n", words(each.stage()), each.seen()));
    }
  }

  private static String words(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String toString() {
    return line();
  }
}
