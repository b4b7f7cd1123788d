package io.floatvalve.metrics;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.publish.PublisherStatus;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/**
 * Whether publishers and consumers do their work, and why not. Immutable.
 *
 * @param state the worst of all parts
 * @param reasons what keeps it from being better, in the order in which the parts were watched;
 *     empty if nothing does
 */
public record Health(State state, List<Reason> reasons) {
  private static final Health UP = new Health(State.UP, List.of());

  /** How well things are; the later, the worse. */
  public enum State {
    /** They do their work, or have none. */
    UP,
    /** They work, or will again by themselves; somebody should look. */
    DEGRADED,
    /** They do not do their work. */
    DOWN
  }

  /**
   * Why one part is not up.
   *
   * @param who the part, by the name it is watched under
   * @param state how bad it is
   * @param why in words fit for a log; holds no secret
   */
  public record Reason(String who, State state, String why) {}

  /** Copies the list. */
  public Health {
    reasons = List.copyOf(reasons);
  }

  /** Returns one of which all is well. */
  public static Health up() {
    return UP;
  }

  /** Returns both together. */
  public Health and(Health other) {
    return new Health(
        state.compareTo(other.state) >= 0 ? state : other.state,
        Stream.concat(reasons.stream(), other.reasons.stream()).toList());
  }

  /**
   * Judges a publisher by its status: down while it has no connection, is closing, or nothing comes
   * to an end; degraded while the broker blocks it.
   *
   * @param stalledFor how long nothing has come to an end although something was there; zero if
   *     something has, or nothing was
   * @param patience how long that may be
   */
  public static Health of(
      String who, PublisherStatus status, Duration stalledFor, Duration patience) {
    return switch (status.state()) {
      case RECOVERING -> because(who, State.DOWN, lost(status.lastLoss()));
      case CLOSING, CLOSED -> because(who, State.DOWN, "it is closed, or closing");
      case BLOCKED -> because(who, State.DEGRADED, "the broker blocks it: " + status.flowReason());
      case OPEN ->
          stalledFor.compareTo(patience) < 0
              ? UP
              : because(
                  who,
                  State.DOWN,
                  "no outcome for "
                      + stalledFor.toSeconds()
                      + " s: "
                      + status.queued()
                      + " queued, "
                      + status.inFlight()
                      + " in flight");
    };
  }

  /**
   * Judges a consumer by its status: down while it has no connection or the broker said that it
   * will never have one, while it drains, or while nothing is settled although there is something;
   * degraded while one message has not been settled for that long and others are. One that idles,
   * is paused, or has no handler yet is up: nobody wants more of it.
   *
   * @param stalledFor how long nothing was settled although something was there; zero if something
   *     was, or nothing was there
   * @param patience how long that may be
   */
  public static Health of(
      String who, ConsumerStatus status, Duration stalledFor, Duration patience) {
    return switch (status.state()) {
      case RECOVERING -> because(who, State.DOWN, lost(status.lastLoss()));
      case FAILED -> because(who, State.DOWN, "given up: " + status.lastLoss());
      case DRAINING, CLOSED -> because(who, State.DOWN, "it is closed, or closing");
      case IDLE, PAUSED -> UP;
      case RUNNING -> {
        if (stalledFor.compareTo(patience) >= 0) {
          yield because(
              who,
              State.DOWN,
              "nothing settled for "
                  + stalledFor.toSeconds()
                  + " s: "
                  + status.waiting()
                  + " waiting, "
                  + status.inHandlers()
                  + " in handlers, "
                  + status.settling()
                  + " settling");
        }
        yield status.oldestUnsettled().compareTo(patience) < 0
            ? UP
            : because(
                who,
                State.DEGRADED,
                "one message is unsettled for " + status.oldestUnsettled().toSeconds() + " s");
      }
    };
  }

  private static String lost(String why) {
    return why.isEmpty() ? "no connection" : "no connection: " + why;
  }

  private static Health because(String who, State state, String why) {
    return new Health(state, List.of(new Reason(who, state, why)));
  }
}
