package io.floatvalve.explain;

import io.floatvalve.explain.BrokerView.Member;
import io.floatvalve.explain.BrokerView.Spread;
import io.floatvalve.explain.ConsumerSnapshot.Here;
import io.floatvalve.explain.ConsumerSnapshot.Limits;
import io.floatvalve.explain.ConsumerSnapshot.Recent;
import io.floatvalve.explain.ConsumerSnapshot.Since;
import io.floatvalve.explain.ConsumerSnapshot.State;
import io.floatvalve.explain.Explanation.Step;
import io.floatvalve.explain.Finding.RedeliveryStorm.Cause;
import io.floatvalve.model.Ordering;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What is wrong with a consumer, each rule a function of the snapshot alone.
 *
 * <p>Three things keep them from crying wolf. A silence counts only for as long as this process was
 * awake. What a burst may look like for a moment must last for {@link ConsumerSnapshot#LASTING}.
 * And what an idle place looks like as well, the broker itself must have denied.
 */
final class ConsumerRules {
  private static final Duration SILENT = Duration.ofSeconds(2);
  private static final Duration QUIET = Duration.ofSeconds(1);
  private static final Duration CALM = Duration.ofSeconds(5);
  private static final Duration LONG = Duration.ofMillis(250);
  private static final Duration NOTABLE = Duration.ofMillis(5);
  private static final double ALL_BUSY = 0.9;
  private static final double WITHOUT_A_BREAK = 0.98;
  private static final double NEARLY_FULL = 0.8;
  private static final int SLOWER = 3;
  private static final int FEW = 10;
  private static final int MANY_BEFORE = 50;
  private static final int HOARD = 32;
  private static final int BATCHES = 3;

  /** The cause before its consequences: the first that speaks is what to look at first. */
  private static final List<Function<ConsumerSnapshot, Optional<Finding>>> RULES =
      List.of(
          ConsumerRules::notConnected,
          ConsumerRules::blockedOnUnacked,
          ConsumerRules::redeliveryStorm,
          ConsumerRules::ackTimeoutTooShort,
          ConsumerRules::copiesFailing,
          ConsumerRules::partlyAckedBatches,
          ConsumerRules::settlementForgotten,
          ConsumerRules::memoryHeld,
          ConsumerRules::handlerSlow,
          ConsumerRules::handlersAllBusy,
          ConsumerRules::throttledDispatch,
          ConsumerRules::permitsStarved,
          ConsumerRules::keySharedDraining,
          ConsumerRules::starvedBySiblings,
          ConsumerRules::heldByBroker,
          ConsumerRules::orderContradiction,
          ConsumerRules::quotaNear);

  private ConsumerRules() {}

  static List<Finding> find(ConsumerSnapshot s) {
    if (s.state() == State.ENDING || s.state() == State.NOT_STARTED) {
      return List.of();
    }
    List<Finding> found = new ArrayList<>(0);
    for (Function<ConsumerSnapshot, Optional<Finding>> rule : RULES) {
      rule.apply(s).ifPresent(found::add);
    }
    return found;
  }

  static Explanation.State state(ConsumerSnapshot s) {
    return switch (s.state()) {
      case ENDING -> Explanation.State.ENDING;
      case NOT_STARTED, PAUSED -> Explanation.State.WAITING;
      case RECOVERING, FAILED -> Explanation.State.DISCONNECTED;
      case RUNNING -> {
        boolean moved =
            s.recent().settled() > 0
                || s.recent().taken() > 0
                || !awake(s, s.since().settled(), SILENT);
        boolean work = hasWork(s) || undelivered(s) > 0;
        yield work
            ? moved ? Explanation.State.FLOWING : Explanation.State.STALLED
            : s.recent().taken() > 0 ? Explanation.State.FLOWING : Explanation.State.IDLE;
      }
    };
  }

  /** Returns whether there is something here that should get on. */
  static boolean hasWork(ConsumerSnapshot s) {
    Here here = s.here();
    return here.waiting() > 0 || here.inHandlers() > 0 || here.settling() > 0;
  }

  // Rules

  private static Optional<Finding> notConnected(ConsumerSnapshot s) {
    boolean gone = s.state() == State.RECOVERING || s.state() == State.FAILED;
    return gone
        ? Optional.of(
            new Finding.NotConnected(Certainty.CERTAIN, s.here().lastLoss(), s.here().reopened()))
        : Optional.empty();
  }

  private static Optional<Finding> blockedOnUnacked(ConsumerSnapshot s) {
    Member own = own(s.view());
    if (own != null && own.blockedOnUnacked()) {
      long unacked = own.unacked().orElse(unsettled(s));
      long limit = s.view() == null ? 0 : s.view().unackedLimit().orElse(0);
      // The broker goes on when half of them are acknowledged, not at the first.
      long more = limit == 0 ? 0 : Math.max(1, unacked - limit / 2);
      return Optional.of(
          new Finding.BlockedOnUnacked(
              Certainty.CERTAIN, unacked, limit, more, false, s.since().settled()));
    }
    Limits limits = s.limits();
    if (limits.pulls()
        && s.here().refusing()
        && s.here().inHandlers() >= limits.slots()
        && awake(s, s.since().settled(), SILENT)) {
      return Optional.of(
          new Finding.BlockedOnUnacked(
              Certainty.CERTAIN,
              s.here().inHandlers(),
              limits.slots(),
              s.here().inHandlers() - limits.slots() + 1L,
              true,
              s.since().settled()));
    }
    return Optional.empty();
  }

  private static Optional<Finding> redeliveryStorm(ConsumerSnapshot s) {
    Recent recent = s.recent();
    long all = recent.taken() + Math.max(0, recent.retried() - recent.redelivered());
    long again = Math.max(recent.redelivered(), Math.min(all, recent.retried()));
    boolean calm = awake(s, s.since().opened(), CALM); // else it is what a lost connection brings
    if (again < FEW || 2 * again < all || !calm) {
      return Optional.empty();
    }
    Duration timeout = s.limits().ackTimeout();
    Duration handling = longer(s.handlingEver().p999(), s.held().age());
    boolean tooShort =
        !timeout.isZero() && (handling.compareTo(timeout) >= 0 || 2 * recent.duplicates() > again);
    boolean attempts = 4 * (recent.retried() + recent.rejected()) >= again;
    Cause cause = tooShort ? Cause.ACK_TIMEOUT : attempts ? Cause.ATTEMPTS : Cause.UNKNOWN;
    return Optional.of(
        new Finding.RedeliveryStorm(
            cause == Cause.UNKNOWN ? Certainty.LIKELY : Certainty.CERTAIN,
            cause,
            again,
            all,
            recent.retried(),
            recent.duplicates(),
            timeout,
            handling));
  }

  private static Optional<Finding> ackTimeoutTooShort(ConsumerSnapshot s) {
    Duration timeout = s.limits().ackTimeout();
    Duration handling = longer(s.handlingEver().p999(), s.held().age());
    return timeout.isZero() || handling.compareTo(timeout) < 0
        ? Optional.empty()
        : Optional.of(
            new Finding.AckTimeoutTooShort(
                Certainty.CERTAIN, timeout, handling, s.handlingEver().count()));
  }

  private static Optional<Finding> copiesFailing(ConsumerSnapshot s) {
    return s.recent().copiesFailed() == 0 || s.here().settling() == 0
        ? Optional.empty()
        : Optional.of(
            new Finding.CopiesFailing(
                Certainty.CERTAIN,
                s.recent().copiesFailed(),
                s.here().settling(),
                s.recent().length()));
  }

  private static Optional<Finding> partlyAckedBatches(ConsumerSnapshot s) {
    return s.here().partlyAcked() < BATCHES || s.held().count() < BATCHES
        ? Optional.empty()
        : Optional.of(
            new Finding.PartlyAckedBatches(
                Certainty.CERTAIN,
                s.here().partlyAcked(),
                s.held().count(),
                s.held().message(),
                s.held().age()));
  }

  private static Optional<Finding> settlementForgotten(ConsumerSnapshot s) {
    if (s.held().count() == 0 || !s.held().thread().isEmpty()) {
      return Optional.empty();
    }
    boolean others = s.recent().settled() > 0;
    return Optional.of(
        new Finding.SettlementForgotten(
            others ? Certainty.LIKELY : Certainty.POSSIBLE,
            s.held().message(),
            s.held().lane(),
            s.held().age(),
            s.held().count(),
            s.held().limit(),
            s.recent().settled()));
  }

  private static Optional<Finding> memoryHeld(ConsumerSnapshot s) {
    Here here = s.here();
    double most = NEARLY_FULL * s.limits().maxBytes();
    return (here.waitingBytes() < most && here.unsettledBytes() < most) || !isPressed(s)
        ? Optional.empty()
        : Optional.of(
            new Finding.MemoryHeld(
                Certainty.CERTAIN,
                here.waitingBytes(),
                here.unsettledBytes(),
                s.limits().maxBytes(),
                here.waiting()));
  }

  private static Optional<Finding> handlerSlow(ConsumerSnapshot s) {
    boolean stuckOne = s.held().count() > 0 && !s.held().thread().isEmpty();
    if (!stuckOne && (!isPressed(s) || !isSlow(s))) {
      return Optional.empty();
    }
    return Optional.of(
        new Finding.HandlerSlow(
            Certainty.LIKELY,
            s.limits().slots(),
            s.here().inHandlers(),
            lately(s).p50(),
            isSlower(s) ? s.handlingBefore().p50() : Duration.ZERO,
            s.since().settled(),
            stuckOne ? s.held().message() : "",
            s.held().lane(),
            s.held().thread(),
            s.held().age(),
            s.here().waiting()));
  }

  private static Optional<Finding> handlersAllBusy(ConsumerSnapshot s) {
    if (!isPressed(s) || isSlow(s) || s.recent().busyShare() < ALL_BUSY) {
      return Optional.empty();
    }
    return Optional.of(
        new Finding.HandlersAllBusy(
            Certainty.LIKELY,
            s.limits().slots(),
            s.recent().busyShare(),
            s.recent().handling().p50(),
            perSecond(s.recent().settled(), s.recent().length()),
            s.here().waiting(),
            s.since().queueEmpty(),
            s.recent().waited().p50()));
  }

  private static Optional<Finding> throttledDispatch(ConsumerSnapshot s) {
    OptionalLong told = s.view() == null ? OptionalLong.empty() : s.view().dispatchThrottled();
    boolean confirmed = told.orElse(0) > 0 || s.throttle().level() == Throttle.Level.CONFIRMED;
    if ((!confirmed && !s.throttle().isLikely()) || isPressed(s)) {
      return Optional.empty();
    }
    String evidence =
        told.orElse(0) > 0
            ? "the broker held " + told.getAsLong() + " deliveries back by a rate limit"
            : s.throttle().evidence();
    return Optional.of(
        new Finding.ThrottledDispatch(
            s.throttle().certainty(confirmed),
            evidence,
            s.here().outstanding(),
            s.recent().age().p50()));
  }

  private static Optional<Finding> permitsStarved(ConsumerSnapshot s) {
    Here here = s.here();
    OptionalLong there = s.view() == null ? OptionalLong.empty() : s.view().undelivered();
    Member own = own(s.view());
    OptionalLong permits = own == null ? OptionalLong.empty() : own.permits();
    boolean told = permits.isPresent() && there.orElse(0) > 0;
    boolean noneThere = told && permits.getAsLong() <= 0;
    if (s.state() != State.RUNNING
        || here.window() <= 0
        || here.waiting() > 0
        || here.inHandlers() + here.settling() >= s.limits().slots()
        || !awake(s, s.since().arrived(), SILENT)
        || (here.outstanding() > 0 && !noneThere)
        || (there.isPresent() && there.getAsLong() == 0)
        || isBlocked(s)) {
      return Optional.empty();
    }
    return Optional.of(
        new Finding.PermitsStarved(
            told ? Certainty.CERTAIN : Certainty.LIKELY,
            here.window(),
            noneThere ? (int) permits.getAsLong() : here.outstanding(),
            here.unsent(),
            s.recent().broken(),
            s.since().arrived()));
  }

  private static Optional<Finding> keySharedDraining(ConsumerSnapshot s) {
    BrokerView view = s.view();
    if (view == null || view.drainingKeys().orElse(0) == 0) {
      return Optional.empty();
    }
    return Optional.of(
        new Finding.KeySharedDraining(
            awake(s, s.since().arrived(), QUIET) ? Certainty.CERTAIN : Certainty.LIKELY,
            view.drainingKeys().getAsLong(),
            view.drainingUnacked().orElse(0),
            view.drainingHolder(),
            view.undelivered().orElse(0)));
  }

  private static Optional<Finding> starvedBySiblings(ConsumerSnapshot s) {
    BrokerView view = s.view();
    if (view == null
        || !looksIdle(s, QUIET)
        || mayStandBy(view)
        || view.undelivered().orElse(1) > 0) {
      return Optional.empty();
    }
    Member most = null;
    for (Member each : view.consumers()) {
      if (!each.own()
          && each.unacked().orElse(0) >= HOARD
          && (most == null || each.unacked().orElse(0) > most.unacked().orElse(0))) {
        most = each;
      }
    }
    return most == null
        ? Optional.empty()
        : Optional.of(
            new Finding.StarvedBySiblings(
                Certainty.CERTAIN,
                most.name(),
                most.unacked().orElse(0),
                most.permits(),
                view.backlog().orElse(0),
                s.here().outstanding(),
                s.since().arrived()));
  }

  private static Optional<Finding> heldByBroker(ConsumerSnapshot s) {
    BrokerView view = s.view();
    if (view == null
        || view.undelivered().orElse(0) == 0
        || s.here().outstanding() <= 0
        || !looksIdle(s, SILENT)
        || isBlocked(s)
        || mayStandBy(view)
        || view.drainingKeys().orElse(0) > 0
        || view.dispatchThrottled().orElse(0) > 0) {
      return Optional.empty();
    }
    Member own = own(view);
    OptionalLong permits = own == null ? OptionalLong.empty() : own.permits();
    if (permits.isPresent() && permits.getAsLong() <= 0) {
      return Optional.empty(); // it is starved of permits
    }
    return Optional.of(
        new Finding.HeldByBroker(
            Certainty.LIKELY,
            view.undelivered().getAsLong(),
            s.here().outstanding(),
            permits.orElse(-1),
            s.since().arrived(),
            view.source()));
  }

  private static Optional<Finding> orderContradiction(ConsumerSnapshot s) {
    Ordering asked = s.limits().ordering();
    Recent recent = s.recent();
    String words = asked == Ordering.TOTAL ? "in total" : "by key";
    if (asked == Ordering.BY_KEY
        && recent.keyless() >= FEW
        && 2 * recent.keyless() >= recent.taken()) {
      return Optional.of(
          new Finding.OrderContradiction(
              Certainty.CERTAIN,
              words,
              "messages come without a key and have no order",
              recent.keyless(),
              recent.taken()));
    }
    BrokerView view = s.view();
    if (view == null || view.consumers().size() < 2 || asked == Ordering.NONE) {
      return Optional.empty();
    }
    boolean contradicts =
        view.spread() == Spread.SHARED
            || (asked == Ordering.TOTAL && view.spread() == Spread.BY_KEY);
    return contradicts
        ? Optional.of(
            new Finding.OrderContradiction(
                Certainty.CERTAIN,
                words,
                "the broker spreads messages over "
                    + view.consumers().size()
                    + " consumers without keeping it",
                recent.taken(),
                recent.taken()))
        : Optional.empty();
  }

  private static Optional<Finding> quotaNear(ConsumerSnapshot s) {
    return quotaNear(s.peaks());
  }

  static Optional<Finding> quotaNear(@Nullable Peaks peaks) {
    return peaks == null || peaks.peakPerSecond() < NEARLY_FULL * peaks.quotaPerSecond()
        ? Optional.empty()
        : Optional.of(
            new Finding.QuotaNear(
                Certainty.CERTAIN,
                peaks.of(),
                peaks.peakPerSecond(),
                peaks.averagePerSecond(),
                peaks.quotaPerSecond()));
  }

  // What they share

  /**
   * Messages have waited for handlers without a break, and handlers are what they wait for. Where
   * few permits are given, or what waits too long is given back, there are moments in which none
   * waits here: then it is the handlers that had no break, or hardly one while the broker has more.
   */
  private static boolean isPressed(ConsumerSnapshot s) {
    long waiting = s.here().waiting() + undelivered(s);
    if (s.state() != State.RUNNING || s.limits().pulls() || waiting == 0) {
      return false;
    }
    double enough = undelivered(s) >= s.limits().slots() ? ALL_BUSY : WITHOUT_A_BREAK;
    boolean noBreak =
        s.recent().busyShare() >= enough
            && s.recent().length().compareTo(ConsumerSnapshot.LASTING) >= 0
            && s.longestPause().compareTo(QUIET) < 0;
    return noBreak
        || (awake(s, s.since().queueEmpty(), ConsumerSnapshot.LASTING)
            && (s.recent().busyShare() >= ALL_BUSY
                || s.here().inHandlers() >= s.limits().slots()
                || s.here().parked() >= FEW));
  }

  private static boolean isSlow(ConsumerSnapshot s) {
    boolean none = s.recent().handling().count() == 0 && awake(s, s.since().settled(), SILENT);
    return none || isSlower(s) || lately(s).p50().compareTo(LONG) >= 0;
  }

  /** Returns how long handlers take now: of the last seconds many may still be from before. */
  private static Timing lately(ConsumerSnapshot s) {
    Timing lately = s.recent().handlingLately();
    return lately.count() > 0 ? lately : s.recent().handling();
  }

  private static boolean isSlower(ConsumerSnapshot s) {
    Timing now = lately(s);
    return s.handlingBefore().count() >= MANY_BEFORE
        && now.count() > 0
        && now.p50().compareTo(NOTABLE) >= 0
        && now.p50().compareTo(s.handlingBefore().p50().multipliedBy(SLOWER)) >= 0;
  }

  private static boolean looksIdle(ConsumerSnapshot s, Duration silence) {
    return s.state() == State.RUNNING
        && s.here().waiting() == 0
        && s.here().inHandlers() == 0
        && awake(s, s.since().arrived(), silence)
        && awake(s, s.since().opened(), silence);
  }

  /**
   * Returns whether all may go to another consumer, as was asked for. A list without us is older
   * than we are: others may be missing there as well.
   */
  private static boolean mayStandBy(BrokerView view) {
    return view.spread() == Spread.ONE && (view.consumers().size() > 1 || own(view) == null);
  }

  private static boolean isBlocked(ConsumerSnapshot s) {
    Member own = own(s.view());
    return own != null && own.blockedOnUnacked();
  }

  /** Returns whether so much time has passed, not counting what this process slept. */
  private static boolean awake(ConsumerSnapshot s, Duration passed, Duration enough) {
    return passed.minus(s.longestPause()).compareTo(enough) >= 0;
  }

  private static @Nullable Member own(@Nullable BrokerView view) {
    if (view == null) {
      return null;
    }
    for (Member each : view.consumers()) {
      if (each.own()) {
        return each;
      }
    }
    return null;
  }

  private static long undelivered(ConsumerSnapshot s) {
    return s.view() == null ? 0 : s.view().undelivered().orElse(0);
  }

  private static int unsettled(ConsumerSnapshot s) {
    return s.here().inHandlers() + s.here().parked() + s.here().settling();
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  static double perSecond(long count, Duration length) {
    return length.isZero() ? 0 : count * 1e9 / length.toNanos();
  }

  // The chain

  static List<Step> chain(ConsumerSnapshot s) {
    Here here = s.here();
    Recent recent = s.recent();
    Since since = s.since();
    Limits limits = s.limits();
    String client =
        Words.rate(perSecond(recent.taken(), recent.length()))
            + " taken and "
            + Words.rate(perSecond(recent.settled(), recent.length()))
            + " settled a second; "
            + here.inHandlers()
            + " of "
            + limits.slots()
            + (limits.pulls()
                ? " handed out"
                : " handlers in use, busy " + Words.percent(recent.busyShare()))
            + "; handling p50 "
            + Words.time(recent.handling().p50())
            + ", p99.9 ever "
            + Words.time(s.handlingEver().p999())
            + "; "
            + here.waiting()
            + " wait ("
            + Words.bytes(here.waitingBytes())
            + "), "
            + here.parked()
            + " of them for their key; last settled "
            + Words.time(since.settled())
            + " ago"
            + (s.longestPause().isZero()
                ? ""
                : "; this process stood still for " + Words.time(s.longestPause()));
    String connection =
        s.state().name().toLowerCase(Locale.ROOT).replace('_', ' ')
            + ", link "
            + here.epoch()
            + " open for "
            + Words.time(since.opened())
            + ", reopened "
            + here.reopened()
            + " times"
            + (here.lastLoss().isEmpty() ? "" : ", last loss: " + here.lastLoss())
            + "; "
            + recent.arrived()
            + " arrived in "
            + Words.time(recent.length())
            + ", the last "
            + Words.time(since.arrived())
            + " ago";
    String permits =
        "permits: window "
            + here.window()
            + ", "
            + here.outstanding()
            + " unused at the broker, "
            + here.unsent()
            + " not told to it";
    BrokerView view = s.view();
    if (view == null) {
      boolean idle = looksIdle(s, QUIET) && here.outstanding() > 0;
      return List.of(
          new Step(Stage.CLIENT, client),
          new Step(Stage.CONNECTION, connection),
          new Step(
              Stage.DISPATCHER,
              permits
                  + "; the broker was not asked"
                  + (idle
                      ? ": idle or held by it (broker silent, keys draining) cannot be told apart"
                      : "")),
          new Step(
              Stage.CURSOR,
              unsettled(s)
                  + " unsettled here"
                  + (here.partlyAcked() > 0 ? ", in " + here.partlyAcked() + " batches partly" : "")
                  + "; the broker was not asked"),
          new Step(Stage.LEDGER, "the broker was not asked"));
    }
    Member own = own(view);
    return List.of(
        new Step(Stage.CLIENT, client),
        new Step(Stage.CONNECTION, connection),
        new Step(
            Stage.DISPATCHER,
            permits
                + "; "
                + view.consumers().size()
                + " consumers"
                + (own == null
                    ? ", this one not told apart"
                    : ", of this one "
                        + words(own.permits())
                        + " permits"
                        + (own.blockedOnUnacked() ? ", blocked on unacknowledged messages" : ""))
                + (view.drainingKeys().orElse(0) > 0
                    ? "; " + view.drainingKeys().getAsLong() + " key ranges draining"
                    : "")
                + (view.dispatchThrottled().orElse(0) > 0
                    ? "; held back by a rate limit "
                        + view.dispatchThrottled().getAsLong()
                        + " times"
                    : "")
                + "; "
                + view.source()
                + ", "
                + Words.time(view.age())
                + " ago"),
        new Step(
            Stage.CURSOR,
            "backlog "
                + words(view.backlog())
                + ", "
                + words(view.unacked())
                + " of it delivered and not acknowledged; "
                + unsettled(s)
                + " unsettled here"
                + (here.partlyAcked() > 0 ? ", in " + here.partlyAcked() + " batches partly" : "")),
        new Step(
            Stage.LEDGER,
            (view.storedBytes().isPresent()
                    ? Words.bytes(view.storedBytes().getAsLong()) + " kept"
                    : "size not told")
                + (view.alarm().isEmpty() ? "" : "; alarm: " + view.alarm())));
  }

  static String words(OptionalLong value) {
    return value.isPresent() ? Long.toString(value.getAsLong()) : "unknown";
  }
}
