package io.floatvalve.explain;

import io.floatvalve.explain.Explanation.Step;
import io.floatvalve.explain.PublisherSnapshot.Here;
import io.floatvalve.explain.PublisherSnapshot.Recent;
import io.floatvalve.explain.PublisherSnapshot.State;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** What is wrong with a publisher, each rule a function of the snapshot alone. */
final class PublisherRules {
  private static final Duration SILENT = Duration.ofSeconds(1);
  private static final Duration PRESSED = Duration.ofSeconds(2);
  private static final int LATE = 5;
  private static final int MANY = 10;

  /** The cause before its consequences: the first that speaks is what to look at first. */
  private static final List<Function<PublisherSnapshot, Optional<Finding>>> RULES =
      List.of(
          PublisherRules::notConnected,
          PublisherRules::connectionBlocked,
          PublisherRules::windowWaitingOnOne,
          PublisherRules::brokerSilent,
          PublisherRules::throttledPublish,
          PublisherRules::windowTooSmall,
          PublisherRules::quotaNear);

  private PublisherRules() {}

  static List<Finding> find(PublisherSnapshot s) {
    if (s.state() == State.ENDING) {
      return List.of();
    }
    List<Finding> found = new ArrayList<>(0);
    for (Function<PublisherSnapshot, Optional<Finding>> rule : RULES) {
      rule.apply(s).ifPresent(found::add);
    }
    if (found.isEmpty()
        && s.throttle().level() == Throttle.Level.SUSPECTED
        && awake(s, s.since().unpressed(), PRESSED)) {
      throttledPublish(s, true).ifPresent(found::add); // messages wait, and nothing better is known
    }
    return found;
  }

  static Explanation.State state(PublisherSnapshot s) {
    return switch (s.state()) {
      case ENDING -> Explanation.State.ENDING;
      case RECOVERING -> Explanation.State.DISCONNECTED;
      case BLOCKED -> Explanation.State.STALLED;
      case OPEN ->
          s.recent().confirmed() > 0 || s.recent().refused() > 0
              ? Explanation.State.FLOWING
              : s.here().inFlight() == 0 && s.here().queued() == 0
                  ? Explanation.State.IDLE
                  : awake(s, s.since().answered(), SILENT)
                      ? Explanation.State.STALLED
                      : Explanation.State.FLOWING;
    };
  }

  private static Optional<Finding> notConnected(PublisherSnapshot s) {
    return s.state() == State.RECOVERING
        ? Optional.of(
            new Finding.NotConnected(Certainty.CERTAIN, s.here().lastLoss(), s.here().reopened()))
        : Optional.empty();
  }

  private static Optional<Finding> connectionBlocked(PublisherSnapshot s) {
    return s.state() == State.BLOCKED
        ? Optional.of(
            new Finding.ConnectionBlocked(
                Certainty.CERTAIN,
                s.here().blockedReason(),
                s.since().blocked(),
                s.here().queued(),
                s.here().inFlight()))
        : Optional.empty();
  }

  /** Far more was answered behind the oldest than is open: it is that one, not the broker. */
  private static boolean waitsOnOne(PublisherSnapshot s) {
    Here here = s.here();
    return s.state() == State.OPEN
        && here.inFlight() > 0
        && here.behind() >= 3L * here.inFlight()
        && isLate(s, here.oldest());
  }

  private static Optional<Finding> windowWaitingOnOne(PublisherSnapshot s) {
    Here here = s.here();
    return waitsOnOne(s)
        ? Optional.of(
            new Finding.WindowWaitingOnOne(
                here.behind() + here.inFlight() >= here.span()
                    ? Certainty.CERTAIN
                    : Certainty.LIKELY,
                here.oldest(),
                here.inFlight(),
                here.behind(),
                here.span(),
                s.confirmEver().p99(),
                here.queued()))
        : Optional.empty();
  }

  private static Optional<Finding> brokerSilent(PublisherSnapshot s) {
    Here here = s.here();
    return s.state() == State.OPEN
            && here.inFlight() > 0
            && !waitsOnOne(s)
            && isLate(s, here.oldest())
            && isLate(s, s.since().answered())
        ? Optional.of(
            new Finding.BrokerSilent(
                Certainty.LIKELY,
                s.since().answered(),
                here.inFlight(),
                here.oldest(),
                s.confirmEver().p99(),
                here.queued()))
        : Optional.empty();
  }

  private static Optional<Finding> throttledPublish(PublisherSnapshot s) {
    return throttledPublish(s, false);
  }

  private static Optional<Finding> throttledPublish(PublisherSnapshot s, boolean ifSuspected) {
    OptionalLong told = s.view() == null ? OptionalLong.empty() : s.view().publishThrottled();
    boolean work = s.here().inFlight() > 0 || s.here().queued() > 0;
    boolean confirmed =
        (told.orElse(0) > 0 && work) || s.throttle().level() == Throttle.Level.CONFIRMED;
    if (s.state() != State.OPEN || (!confirmed && !s.throttle().isLikely() && !ifSuspected)) {
      return Optional.empty();
    }
    String evidence =
        told.orElse(0) > 0
            ? "the broker held publishing back by a rate limit " + told.getAsLong() + " times"
            : s.throttle().evidence();
    return Optional.of(
        new Finding.ThrottledPublish(
            s.throttle().certainty(confirmed),
            evidence,
            perSecond(s),
            s.here().queued(),
            s.here().inFlight()));
  }

  private static Optional<Finding> windowTooSmall(PublisherSnapshot s) {
    Here here = s.here();
    Recent recent = s.recent();
    if (s.state() != State.OPEN
        || here.window() < here.mostWindow() // it would grow by itself
        || here.queued() == 0
        || !awake(s, s.since().unpressed(), PRESSED)
        || recent.confirm().count() < MANY
        || recent.confirm().p50().compareTo(s.confirmEver().least().multipliedBy(2)) > 0
        || s.throttle().isLikely()) {
      return Optional.empty();
    }
    return Optional.of(
        new Finding.WindowTooSmall(
            Certainty.LIKELY,
            here.window(),
            recent.confirm().p50(),
            s.confirmEver().least(),
            perSecond(s),
            here.queued(),
            s.since().unpressed()));
  }

  private static Optional<Finding> quotaNear(PublisherSnapshot s) {
    return ConsumerRules.quotaNear(s.peaks());
  }

  /** Later than any confirm should be: a second, and five times what 99 % take. */
  private static boolean isLate(PublisherSnapshot s, Duration passed) {
    return awake(s, passed, SILENT)
        && passed.compareTo(s.confirmEver().p99().multipliedBy(LATE)) >= 0;
  }

  private static boolean awake(PublisherSnapshot s, Duration passed, Duration enough) {
    return passed.minus(s.longestPause()).compareTo(enough) >= 0;
  }

  private static double perSecond(PublisherSnapshot s) {
    return ConsumerRules.perSecond(s.recent().confirmed(), s.recent().length());
  }

  // The chain

  static List<Step> chain(PublisherSnapshot s) {
    Here here = s.here();
    Recent recent = s.recent();
    BrokerView view = s.view();
    return List.of(
        new Step(
            Stage.CLIENT,
            here.queued()
                + " of "
                + here.maxQueued()
                + " queued, "
                + here.waiters()
                + " callers wait; "
                + here.inFlight()
                + " in flight of "
                + here.window()
                + " (at most "
                + here.mostWindow()
                + "); queued for "
                + Words.time(recent.queuedFor().p50())
                + " at p50"
                + (s.longestPause().isZero()
                    ? ""
                    : "; this process stood still for " + Words.time(s.longestPause()))),
        new Step(
            Stage.CONNECTION,
            s.state().name().toLowerCase(Locale.ROOT)
                + (here.blockedReason().isEmpty() ? "" : " (" + here.blockedReason() + ")")
                + ", link "
                + here.epoch()
                + " open for "
                + Words.time(s.since().opened())
                + ", reopened "
                + here.reopened()
                + " times"
                + (here.lastLoss().isEmpty() ? "" : ", last loss: " + here.lastLoss())
                + "; last answer "
                + Words.time(s.since().answered())
                + " ago, oldest in flight "
                + Words.time(here.oldest())),
        new Step(
            Stage.DISPATCHER,
            Words.rate(perSecond(s))
                + " confirmed a second at p50 "
                + Words.time(recent.confirm().p50())
                + ", p99 "
                + Words.time(recent.confirm().p99())
                + "; "
                + recent.refused()
                + " refused, "
                + recent.unknown()
                + " unknown, "
                + recent.notSent()
                + " not sent in "
                + Words.time(recent.length())),
        new Step(
            Stage.CURSOR,
            view == null
                ? "the broker was not asked"
                : "backlog " + ConsumerRules.words(view.backlog())),
        new Step(
            Stage.LEDGER,
            view == null
                ? "the broker was not asked"
                : (view.storedBytes().isPresent()
                        ? Words.bytes(view.storedBytes().getAsLong()) + " kept"
                        : "size not told")
                    + (view.alarm().isEmpty() ? "" : "; alarm: " + view.alarm())));
  }
}
