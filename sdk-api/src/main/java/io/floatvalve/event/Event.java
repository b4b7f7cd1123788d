package io.floatvalve.event;

import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;

/**
 * Something that happened to a connection, a link or a window.
 *
 * <p>Events are told to the listener of {@code Messaging} on one thread of ours, in the order they
 * came about; never on the client's threads. They are values: keep them, log them, count them.
 */
public sealed interface Event
    permits Event.LinkOpened,
        Event.LinkLost,
        Event.Recovering,
        Event.Blocked,
        Event.Unblocked,
        Event.LinkRetired,
        Event.ReturnUnmatched,
        Event.CallbackStuck,
        Event.WindowChanged,
        Event.PermitsChanged,
        Event.HandlerStuck,
        Event.HandlerError,
        Event.Rejected,
        Event.CopyFailed,
        Event.ConsumerNote,
        Event.Stalled,
        Event.PacingStarted,
        Event.PacingEnded,
        Event.QuotaWarning,
        Event.LocalLimitExceeded,
        Event.DelayStripped,
        Event.ThrottlingSuspected,
        Event.ThrottlingEnded,
        Event.ThrottlingConfirmed,
        Event.RateChanged {

  /** Returns when it came about. */
  Instant at();

  /** Returns the publisher or consumer it came about at, in words. */
  String who();

  /** Returns what came about, in words fit for a log; holds no secret. */
  String what();

  /**
   * A way to the broker is open.
   *
   * @param epoch the number of its incarnation
   */
  record LinkOpened(Instant at, String who, long epoch) implements Event {
    @Override
    public String what() {
      return "open (link " + epoch + ")";
    }
  }

  /**
   * A way to the broker is gone; what was in flight on it has its outcome.
   *
   * @param connection whether the whole connection is gone, not this way alone
   * @param detail the broker's or the client's reason
   * @param unsettled how many publishes it leaves unknown
   */
  record LinkLost(
      Instant at, String who, long epoch, boolean connection, String detail, long unsettled)
      implements Event {
    @Override
    public String what() {
      return "lost (link "
          + epoch
          + (connection ? ", its connection): " : "): ")
          + detail
          + "; "
          + unsettled
          + " publishes unknown";
    }
  }

  /**
   * Opening it again failed; it is tried again.
   *
   * @param attempt from 1
   * @param detail why the attempt failed
   */
  record Recovering(Instant at, String who, int attempt, String detail) implements Event {
    @Override
    public String what() {
      return "opening again failed, attempt " + attempt + ": " + detail;
    }
  }

  /** The broker reads nothing more from the connection until further notice. */
  record Blocked(Instant at, String who, String reason) implements Event {
    @Override
    public String what() {
      return "blocked by the broker: " + reason;
    }
  }

  /** The broker reads from the connection again. */
  record Unblocked(Instant at, String who) implements Event {
    @Override
    public String what() {
      return "no longer blocked";
    }
  }

  /**
   * A way to the broker was given up because it did not answer.
   *
   * @param detail what was missing
   */
  record LinkRetired(Instant at, String who, long epoch, String detail) implements Event {
    @Override
    public String what() {
      return "link " + epoch + " given up: " + detail;
    }
  }

  /** The broker returned a message that is none of ours. */
  record ReturnUnmatched(Instant at, String who, String detail) implements Event {
    @Override
    public String what() {
      return "a return that is none of ours: " + detail;
    }
  }

  /**
   * A continuation of a publish's future blocks a completion thread; the next ones go on elsewhere.
   *
   * @param thread the one that is blocked
   */
  record CallbackStuck(Instant at, String who, String thread) implements Event {
    @Override
    public String what() {
      return "a continuation blocks " + thread + "; completions go on elsewhere";
    }
  }

  /**
   * A publisher's adaptive window was doubled or halved since this was told last; told once a
   * second at most. What it is for a moment, while it probes, is not told.
   *
   * @param from messages that could be in flight then; at first, those that a new link begins with
   * @param to messages that can be in flight now
   */
  record WindowChanged(Instant at, String who, int from, int to) implements Event {
    @Override
    public String what() {
      return "window " + from + " -> " + to;
    }
  }

  /**
   * A consumer's permits were doubled or halved since this was told last; told once a second at
   * most.
   *
   * @param from permits then
   * @param to permits now
   */
  record PermitsChanged(Instant at, String who, int from, int to) implements Event {
    @Override
    public String what() {
      return "permits " + from + " -> " + to;
    }
  }

  /**
   * A message has been in a handler for long; told again when that has doubled.
   *
   * @param message its ids
   * @param age since the handler was called
   * @param thread that runs it, or empty if the handler returned a stage
   */
  record HandlerStuck(Instant at, String who, String message, Duration age, String thread)
      implements Event {
    @Override
    public String what() {
      return message + " in its handler for " + age + (thread.isEmpty() ? "" : " on " + thread);
    }
  }

  /**
   * A handler threw an error, not an exception; the message is tried again.
   *
   * @param message its ids
   * @param error what it threw
   */
  record HandlerError(Instant at, String who, String message, Throwable error) implements Event {
    @Override
    public String what() {
      return "the handler of " + message + " failed: " + error;
    }
  }

  /**
   * A message will not be tried again.
   *
   * @param message its ids
   * @param attempts how often it was handled
   * @param reason why, in words
   */
  record Rejected(Instant at, String who, String message, int attempts, String reason)
      implements Event {
    @Override
    public String what() {
      return message + " rejected after " + attempts + " attempts: " + reason;
    }
  }

  /**
   * A copy, for a retry or to the dead letters, was not confirmed. It is tried again; the original
   * stays unsettled.
   *
   * @param message its ids
   * @param deadLetter whether it goes to the dead letters
   * @param detail why, in words
   */
  record CopyFailed(Instant at, String who, String message, boolean deadLetter, String detail)
      implements Event {
    @Override
    public String what() {
      return "the copy of "
          + message
          + (deadLetter ? " to the dead letters" : " for a retry")
          + " was not confirmed: "
          + detail;
    }
  }

  /**
   * Nothing gets on although there is work; told once for each stall.
   *
   * @param since how long there has been no progress
   * @param explanation why, as far as can be told, in some lines
   */
  record Stalled(Instant at, String who, Duration since, String explanation) implements Event {
    @Override
    public String what() {
      return "no progress for " + since.toMillis() + " ms with work to do\n" + explanation;
    }
  }

  /** Something about a consumer that its user should know; told once for each link. */
  record ConsumerNote(Instant at, String who, String note) implements Event {
    @Override
    public String what() {
      return note;
    }
  }

  /** A quota of ours holds messages back; they wait their turn. */
  record PacingStarted(Instant at, String who) implements Event {
    @Override
    public String what() {
      return "a quota holds messages back";
    }
  }

  /**
   * No quota of ours has held messages back for a second.
   *
   * @param lasted since it began
   */
  record PacingEnded(Instant at, String who, Duration lasted) implements Event {
    @Override
    public String what() {
      return "no quota holds messages back any more, after " + lasted.toMillis() + " ms";
    }
  }

  /**
   * A second came near the quota; told again when a minute has passed, or when five seconds were
   * away from it.
   *
   * @param second what passed in it: messages by their cost, or bytes
   * @param average a second, over the last minute: what a dashboard shows
   * @param quota this process's part of it, a second
   * @param bytes whether bytes are meant, not messages
   */
  record QuotaWarning(
      Instant at, String who, long second, double average, double quota, boolean bytes)
      implements Event {
    @Override
    public String what() {
      return String.format(
          Locale.ROOT,
          "%,d %s in a second, %.0f %% of the quota of %,.0f; %,.0f a second over the last minute",
          second,
          bytes ? "bytes" : "messages",
          100 * second / quota,
          quota,
          average);
    }
  }

  /**
   * Messages were not sent because of a quota of ours; told once a second at most.
   *
   * @param refused how many, since this was told last
   */
  record LocalLimitExceeded(Instant at, String who, long refused) implements Event {
    @Override
    public String what() {
      return refused + " messages not sent: more than a quota admits";
    }
  }

  /**
   * Messages were sent without their delay, which was over; told once a second at most.
   *
   * @param stripped how many, since this was told last
   */
  record DelayStripped(Instant at, String who, long stripped) implements Event {
    @Override
    public String what() {
      return stripped + " messages sent without their delay, which was over";
    }
  }

  /**
   * The broker seems to hold us back without a word. Told when it is suspected, and again when it
   * is likely.
   *
   * @param likely whether two signs or more speak for it, not one
   * @param signs what speaks for it: PHASE, EQUAL, PLATEAU, QUOTA
   * @param gaps silences in the last ten seconds
   * @param longestGap of them
   * @param perSecond what is served a second, where that is even; else 0
   * @param peakSecond the most served in a second of the last ten
   * @param quota this process's part of it, a second; infinite if none is known
   */
  record ThrottlingSuspected(
      Instant at,
      String who,
      boolean likely,
      Set<String> signs,
      int gaps,
      Duration longestGap,
      double perSecond,
      long peakSecond,
      double quota)
      implements Event {
    /** Copies what was given. */
    public ThrottlingSuspected {
      signs = Set.copyOf(signs);
    }

    @Override
    public String what() {
      return String.format(
          Locale.ROOT,
          "the broker %s us: %s; %d gaps of up to %d ms, %s served, at most %,d in a second%s",
          likely ? "seems to throttle" : "may be throttling",
          String.join(", ", new TreeSet<>(signs)),
          gaps,
          longestGap.toMillis(),
          perSecond > 0 ? String.format(Locale.ROOT, "%,.0f a second", perSecond) : "no even rate",
          peakSecond,
          Double.isInfinite(quota)
              ? ""
              : String.format(Locale.ROOT, ", of a quota of %,.0f", quota));
    }
  }

  /** Nothing speaks any more for the broker's holding us back. */
  record ThrottlingEnded(Instant at, String who) implements Event {
    @Override
    public String what() {
      return "nothing speaks for throttling any more";
    }
  }

  /**
   * The broker says in so many words that it limits us; told once a second at most.
   *
   * @param detail its words
   */
  record ThrottlingConfirmed(Instant at, String who, String detail) implements Event {
    @Override
    public String what() {
      return "limited by the broker: " + detail;
    }
  }

  /**
   * The limits are lowered because the broker throttles, or find their way back.
   *
   * @param from which part of them held
   * @param to which part of them holds
   */
  record RateChanged(Instant at, String who, double from, double to) implements Event {
    @Override
    public String what() {
      return String.format(
          Locale.ROOT, "limits at %.0f %% instead of %.0f %%", 100 * to, 100 * from);
    }
  }
}
