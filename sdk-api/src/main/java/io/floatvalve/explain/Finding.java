package io.floatvalve.explain;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;

/**
 * Something that is wrong, with what it rests on and what to do.
 *
 * <p>A value: keep it, log it, count it by {@link #name}. Its components are the numbers it rests
 * on; {@link #what}, {@link #evidence} and {@link #remedy} put them in words.
 */
public sealed interface Finding
    permits Finding.NotConnected,
        Finding.ConnectionBlocked,
        Finding.BlockedOnUnacked,
        Finding.RedeliveryStorm,
        Finding.AckTimeoutTooShort,
        Finding.CopiesFailing,
        Finding.PartlyAckedBatches,
        Finding.SettlementForgotten,
        Finding.MemoryHeld,
        Finding.HandlerSlow,
        Finding.HandlersAllBusy,
        Finding.PermitsStarved,
        Finding.ThrottledDispatch,
        Finding.ThrottledPublish,
        Finding.KeySharedDraining,
        Finding.StarvedBySiblings,
        Finding.HeldByBroker,
        Finding.BrokerSilent,
        Finding.WindowWaitingOnOne,
        Finding.WindowTooSmall,
        Finding.OrderContradiction,
        Finding.QuotaNear {

  /** Returns how sure it is. */
  Certainty certainty();

  /** Returns where in the chain the cause is. */
  Stage stage();

  /**
   * Returns what is wrong, in a line with its most telling numbers; holds no payload, no secret.
   */
  String what();

  /** Returns what it rests on, in words with numbers; at least one line. */
  List<String> evidence();

  /** Returns what to do about it, in words. */
  String remedy();

  /** Returns the name of its kind, such as {@code handler-slow}; there are as many as kinds. */
  default String name() {
    return getClass().getSimpleName().replaceAll("(?<!^)([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }

  /**
   * There is no way to the broker; another is being opened.
   *
   * @param certainty how sure it is
   * @param lastLoss why the last one was lost, or why opening fails
   * @param reopened how often it was opened again so far
   */
  record NotConnected(Certainty certainty, String lastLoss, long reopened) implements Finding {
    @Override
    public Stage stage() {
      return Stage.CONNECTION;
    }

    @Override
    public String what() {
      return "no way to the broker: " + (lastLoss.isEmpty() ? "not opened yet" : lastLoss);
    }

    @Override
    public List<String> evidence() {
      return List.of("links opened again so far: " + reopened);
    }

    @Override
    public String remedy() {
      return "look at the reason given; opening goes on by itself until it works or the application"
          + " closes";
    }
  }

  /**
   * The broker reads nothing more from the connection of publishers.
   *
   * @param certainty how sure it is
   * @param reason the broker's word
   * @param since how long ago it said so
   * @param queued messages that wait here
   * @param inFlight messages sent and not answered
   */
  record ConnectionBlocked(
      Certainty certainty, String reason, Duration since, long queued, int inFlight)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CONNECTION;
    }

    @Override
    public String what() {
      return "blocked: " + reason + ", for " + Words.time(since);
    }

    @Override
    public List<String> evidence() {
      return List.of(queued + " messages wait here, " + inFlight + " are sent and unanswered");
    }

    @Override
    public String remedy() {
      return "free what the broker is short of (memory, disk); publishing goes on by itself once it"
          + " says so";
    }
  }

  /**
   * No more comes until some of what was delivered is acknowledged.
   *
   * @param certainty how sure it is
   * @param unacked messages delivered and not acknowledged
   * @param limit how many there may be; 0 where that is not known
   * @param more how many must be settled before more comes; 0 where that is not known
   * @param ours whether the limit is this consumer's own, not the broker's
   * @param unsettledFor how long ago anything was settled
   */
  record BlockedOnUnacked(
      Certainty certainty, long unacked, long limit, long more, boolean ours, Duration unsettledFor)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "waits for acknowledgements: "
          + unacked
          + " messages are unsettled"
          + (limit > 0 ? " of at most " + limit : "")
          + (more > 0 ? "; settle " + more + " more" : "");
    }

    @Override
    public List<String> evidence() {
      return List.of(
          "nothing was settled for " + Words.time(unsettledFor),
          ours
              ? "the limit is maxUnsettled of this consumer: callers ask and are refused"
              : "the broker says that this consumer is blocked on unacknowledged messages");
    }

    @Override
    public String remedy() {
      return more > 0
          ? "settle " + more + " more messages; find who keeps them"
          : "settle what was handed out; find who keeps it";
    }
  }

  /**
   * Most of what comes has been here before.
   *
   * @param certainty how sure it is
   * @param cause what brings it back
   * @param again deliveries and attempts that were not the first, in the last seconds
   * @param all all of them
   * @param retried of these, retries that the application asked for
   * @param duplicates of these, dropped because the same message was still with a handler
   * @param ackTimeout after which the client asks again; zero for never
   * @param handling what 99.9 % of the handlers need
   */
  record RedeliveryStorm(
      Certainty certainty,
      Cause cause,
      long again,
      long all,
      long retried,
      long duplicates,
      Duration ackTimeout,
      Duration handling)
      implements Finding {
    /** What brings messages back. */
    public enum Cause {
      /** The client asks again while handlers are still at work. */
      ACK_TIMEOUT(", the ack timeout brings them back"),
      /** The application asks for another attempt, or its handler fails. */
      ATTEMPTS(", attempts that fail bring them back"),
      /** Nothing that is known here. */
      UNKNOWN("");

      private final String words;

      Cause(String words) {
        this.words = words;
      }
    }

    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "redelivery storm: "
          + again
          + " of "
          + all
          + " deliveries were not the first"
          + cause.words;
    }

    @Override
    public List<String> evidence() {
      return List.of(
          retried + " retries, " + duplicates + " came while the same message was with a handler",
          "ack timeout "
              + Words.orNever(ackTimeout)
              + ", handlers need "
              + Words.time(handling)
              + " at p99.9");
    }

    @Override
    public String remedy() {
      return switch (cause) {
        case ACK_TIMEOUT ->
            "set the ack timeout far above " + Words.time(handling) + ", or to zero: never";
        case ATTEMPTS ->
            "look at why the handler fails; lengthen retryDelays or lower maxAttempts until it does"
                + " not";
        case UNKNOWN ->
            "look for a consumer that comes and goes, or gives messages back, at the same place";
      };
    }
  }

  /**
   * The client asks again for messages that handlers are still at work on.
   *
   * @param certainty how sure it is
   * @param ackTimeout after which it asks again
   * @param handling what 99.9 % of the handlers need, or how long one is at it
   * @param samples how many handled messages that rests on
   */
  record AckTimeoutTooShort(
      Certainty certainty, Duration ackTimeout, Duration handling, long samples)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "the ack timeout of "
          + Words.time(ackTimeout)
          + " is below what handlers need: "
          + Words.time(handling)
          + " at p99.9";
    }

    @Override
    public List<String> evidence() {
      return List.of(samples + " messages handled");
    }

    @Override
    public String remedy() {
      return "set the ack timeout far above it, or to zero: never";
    }
  }

  /**
   * Copies, for a retry or to the dead letters, are not confirmed: their originals stay.
   *
   * @param certainty how sure it is
   * @param failed copies not confirmed in the last seconds
   * @param settling messages that wait for one
   * @param length how many seconds
   */
  record CopiesFailing(Certainty certainty, long failed, int settling, Duration length)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CONNECTION;
    }

    @Override
    public String what() {
      return "copies for retries or dead letters are not confirmed: "
          + failed
          + " in "
          + Words.time(length);
    }

    @Override
    public List<String> evidence() {
      return List.of(settling + " messages wait for their copy");
    }

    @Override
    public String remedy() {
      return "look at the events CopyFailed for the reason: a topic or queue that is missing or"
          + " refuses";
    }
  }

  /**
   * The broker keeps whole batches for a few messages that are not acknowledged.
   *
   * @param certainty how sure it is
   * @param batches batches of which only some messages are acknowledged
   * @param heldUp messages that handlers keep for long
   * @param message the oldest of them
   * @param age how long it has been kept
   */
  record PartlyAckedBatches(
      Certainty certainty, int batches, int heldUp, String message, Duration age)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.LEDGER;
    }

    @Override
    public String what() {
      return "the broker keeps "
          + batches
          + " batches as a whole, for "
          + heldUp
          + " unsettled messages";
    }

    @Override
    public List<String> evidence() {
      return List.of("the oldest is " + message + ", for " + Words.time(age));
    }

    @Override
    public String remedy() {
      return "settle every message of a batch; reject what cannot be handled, rather than keep it";
    }
  }

  /**
   * A message was handed out and nobody settles it.
   *
   * @param certainty how sure it is
   * @param message the ids of the oldest
   * @param lane the key that waits behind it, or empty
   * @param age how long ago a handler got it
   * @param count how many there are like it
   * @param usual what counts as far longer than usual
   * @param settled messages settled meanwhile, in the last seconds
   */
  record SettlementForgotten(
      Certainty certainty,
      String message,
      String lane,
      Duration age,
      int count,
      Duration usual,
      long settled)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CURSOR;
    }

    @Override
    public String what() {
      return "settlement forgotten: "
          + message
          + (lane.isEmpty() ? "" : " of key '" + lane + "'")
          + ", unsettled for "
          + Words.time(age);
    }

    @Override
    public List<String> evidence() {
      return List.of(
          count
              + " messages are unsettled for more than "
              + Words.time(usual)
              + ", which is far longer than usual",
          settled + " others were settled in the last seconds");
    }

    @Override
    public String remedy() {
      return "find the path in the handler on which it neither settles nor fails, or the stage that"
          + " never completes";
    }
  }

  /**
   * What waits here or is with handlers has used up the budget of bytes.
   *
   * @param certainty how sure it is
   * @param waitingBytes payloads that wait
   * @param unsettledBytes payloads with handlers
   * @param maxBytes how much of either there may be
   * @param messages messages that wait
   */
  record MemoryHeld(
      Certainty certainty, long waitingBytes, long unsettledBytes, long maxBytes, int messages)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "the queue holds memory: "
          + Words.bytes(waitingBytes)
          + " wait and "
          + Words.bytes(unsettledBytes)
          + " are with handlers, of "
          + Words.bytes(maxBytes)
          + " each";
    }

    @Override
    public List<String> evidence() {
      return List.of(messages + " messages wait");
    }

    @Override
    public String remedy() {
      return "speed the handlers up or share the work; lower maxBytes of the permits to hold less,"
          + " or use fewer permits";
    }
  }

  /**
   * Handlers need so long for a message that others wait for them.
   *
   * @param certainty how sure it is
   * @param slots messages that may be with handlers at a time
   * @param busy of these, in use
   * @param typical what half of them need now
   * @param before what half of them needed before; zero where that is not known
   * @param unsettledFor how long ago one was done
   * @param message one that is with a handler for far longer than usual, or empty
   * @param lane the key that waits behind it, or empty
   * @param thread that is in its handler, or empty
   * @param age how long it has been there
   * @param waiting messages that wait here
   */
  record HandlerSlow(
      Certainty certainty,
      int slots,
      int busy,
      Duration typical,
      Duration before,
      Duration unsettledFor,
      String message,
      String lane,
      String thread,
      Duration age,
      int waiting)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return (message.isEmpty()
              ? "handler slow: " + Words.time(typical) + " a message at p50"
              : "handler slow: " + message + " has been in its handler for " + Words.time(age))
          + (before.isZero() || !message.isEmpty() ? "" : ", was " + Words.time(before));
    }

    @Override
    public List<String> evidence() {
      return List.of(
          busy + " of " + slots + " slots in use, " + waiting + " messages wait here",
          "the last message was done " + Words.time(unsettledFor) + " ago",
          (lane.isEmpty() ? "no key waits behind it" : "key '" + lane + "' waits behind it")
              + (thread.isEmpty() ? "" : ", on thread " + thread));
    }

    @Override
    public String remedy() {
      return "look at what the handler waits for (a thread dump, its own dependencies); permits"
          + " follow by themselves";
    }
  }

  /**
   * All handlers are at work all the time: more comes than they can take.
   *
   * @param certainty how sure it is
   * @param slots messages that may be with handlers at a time
   * @param busyShare the part of the time they were at work
   * @param handling what half of them need
   * @param perSecond messages handled a second
   * @param waiting messages that wait here
   * @param saturatedFor how long ago nothing waited
   * @param waited what half of the messages waited here
   */
  record HandlersAllBusy(
      Certainty certainty,
      int slots,
      double busyShare,
      Duration handling,
      double perSecond,
      int waiting,
      Duration saturatedFor,
      Duration waited)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "handlers all busy: "
          + slots
          + " at "
          + Words.percent(busyShare)
          + " of the time, "
          + Words.rate(perSecond)
          + " messages a second, and more wait";
    }

    @Override
    public List<String> evidence() {
      return List.of(
          Words.time(handling)
              + " a message at p50; "
              + waiting
              + " wait here, each for "
              + Words.time(waited),
          "something has waited without a break for " + Words.time(saturatedFor));
    }

    @Override
    public String remedy() {
      return "raise workers where handlers wait for something else, add consumers where they need"
          + " the CPU";
    }
  }

  /**
   * The broker has no permits left, and nothing waits here that would return them.
   *
   * @param certainty how sure it is
   * @param window how many messages may be on their way and waiting
   * @param outstanding permits the broker has; negative where a batch overshot them
   * @param unsent permits it was not told of
   * @param broken messages that could not be read, in the last seconds
   * @param silentFor how long nothing has arrived
   */
  record PermitsStarved(
      Certainty certainty, int window, int outstanding, int unsent, long broken, Duration silentFor)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "permits starved: the broker has "
          + outstanding
          + " of "
          + window
          + ", and nothing waits here"
          + (outstanding < 0 ? "; one batch overshot them (batch granularity)" : "");
    }

    @Override
    public List<String> evidence() {
      return List.of(
          "nothing arrived for "
              + Words.time(silentFor)
              + "; "
              + unsent
              + " permits were not told to the broker",
          broken + " messages could not be read: the client loses permits with them");
    }

    @Override
    public String remedy() {
      return broken > 0
          ? "settle what is unsettled: the consumer is then opened anew with all its permits"
          : "raise the permits above the largest batch, or make batches smaller";
    }
  }

  /**
   * A rate limit at the broker holds deliveries back.
   *
   * @param certainty how sure it is
   * @param basis what it rests on
   * @param outstanding permits the broker has and does not use
   * @param age how old half of the messages are when they arrive
   */
  record ThrottledDispatch(Certainty certainty, String basis, int outstanding, Duration age)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "deliveries are throttled: " + basis;
    }

    @Override
    public List<String> evidence() {
      return List.of(
          "the broker has " + outstanding + " permits and uses them slowly",
          "messages are " + Words.time(age) + " old at p50 when they arrive");
    }

    @Override
    public String remedy() {
      return "raise the dispatch rate of the topic or subscription, or lower what is published";
    }
  }

  /**
   * A rate limit at the broker holds publishing back.
   *
   * @param certainty how sure it is
   * @param basis what it rests on
   * @param perSecond messages confirmed a second
   * @param queued messages that wait here
   * @param inFlight messages sent and not answered
   */
  record ThrottledPublish(
      Certainty certainty, String basis, double perSecond, long queued, int inFlight)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CONNECTION;
    }

    @Override
    public String what() {
      return certainty == Certainty.POSSIBLE
          ? "publishing may be throttled, or the broker is at its own limit: " + basis
          : "publishing is throttled: " + basis;
    }

    @Override
    public List<String> evidence() {
      return List.of(
          Words.rate(perSecond) + " messages a second are confirmed, the link is open",
          queued + " wait here, " + inFlight + " are unanswered");
    }

    @Override
    public String remedy() {
      return "publish below the limit by a quota of this client's, or have the limit raised;"
          + " sending again makes it worse";
    }
  }

  /**
   * Keys wait for acknowledgements of the consumer that had them before.
   *
   * @param certainty how sure it is
   * @param keys key ranges that wait
   * @param unacked messages whose acknowledgements are missing
   * @param holder the consumer that holds them, or empty
   * @param undelivered messages nobody was sent yet
   */
  record KeySharedDraining(
      Certainty certainty, long keys, long unacked, String holder, long undelivered)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "Key_Shared is draining: "
          + keys
          + " key ranges wait for "
          + unacked
          + " messages"
          + (holder.isEmpty() ? " of another consumer" : " held by " + holder);
    }

    @Override
    public List<String> evidence() {
      return List.of(undelivered + " messages were sent to nobody yet");
    }

    @Override
    public String remedy() {
      return "settle what that consumer holds, or close it: its keys then move at once";
    }
  }

  /**
   * Other consumers of the same place have taken all there is.
   *
   * @param certainty how sure it is
   * @param holder the one that holds the most
   * @param held messages it has and has not acknowledged
   * @param permits that the broker has of it; negative where a batch, which is never split, was
   *     larger than them; empty where the broker does not tell
   * @param backlog messages that nobody has acknowledged
   * @param outstanding permits the broker has of this consumer
   * @param silentFor how long nothing has arrived
   */
  record StarvedBySiblings(
      Certainty certainty,
      String holder,
      long held,
      OptionalLong permits,
      long backlog,
      int outstanding,
      Duration silentFor)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "starved by a sibling: " + holder + " holds " + held + " of " + backlog + " messages";
    }

    @Override
    public List<String> evidence() {
      String here =
          "this consumer has "
              + outstanding
              + " permits and got nothing for "
              + Words.time(silentFor);
      return isOvershot()
          ? List.of(
              here,
              "that one has "
                  + permits.getAsLong()
                  + " permits: it was sent a batch larger than what it asked for, as batches are"
                  + " never split (batch granularity)")
          : List.of(here);
    }

    private boolean isOvershot() {
      return permits.orElse(0) < 0;
    }

    @Override
    public String remedy() {
      return isOvershot()
          ? "publish in smaller batches where consumers share a subscription"
          : "let that consumer prefetch less (adaptive permits, a smaller receiver queue or"
              + " prefetch)";
    }
  }

  /**
   * The broker has messages and permits, and sends nothing.
   *
   * @param certainty how sure it is
   * @param undelivered messages nobody was sent yet
   * @param outstanding permits the broker was told of
   * @param permitsThere permits as the broker counts them; meaningless where it does not tell
   * @param silentFor how long nothing has arrived
   * @param source who says so
   */
  record HeldByBroker(
      Certainty certainty,
      long undelivered,
      int outstanding,
      long permitsThere,
      Duration silentFor,
      String source)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "held by the broker: "
          + undelivered
          + " messages are there and "
          + outstanding
          + " permits, nothing comes";
    }

    @Override
    public List<String> evidence() {
      return List.of(
          "nothing arrived for " + Words.time(silentFor),
          source
              + " says "
              + undelivered
              + " undelivered, and "
              + permitsThere
              + " permits of this consumer");
    }

    @Override
    public String remedy() {
      return "messages with a delay that is not over look the same; else look at the broker's log"
          + " for this subscription or queue, and unload it or open the consumer anew";
    }
  }

  /**
   * The broker answers nothing, and the connection stands.
   *
   * @param certainty how sure it is
   * @param silentFor how long ago it answered
   * @param inFlight messages sent and not answered
   * @param oldest how long the oldest has been
   * @param usual how long 99 % of the confirms take; zero where that is not known
   * @param queued messages that wait here
   */
  record BrokerSilent(
      Certainty certainty,
      Duration silentFor,
      int inFlight,
      Duration oldest,
      Duration usual,
      long queued)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CONNECTION;
    }

    @Override
    public String what() {
      return "broker silent: no confirms for " + Words.time(silentFor) + ", the connection is open";
    }

    @Override
    public List<String> evidence() {
      return List.of(
          inFlight + " messages are unanswered, the oldest for " + Words.time(oldest),
          "confirms take " + Words.orUnknown(usual) + " at p99; " + queued + " messages wait here");
    }

    @Override
    public String remedy() {
      return "look at the broker and the network between; what times out is Unknown, not failed";
    }
  }

  /**
   * Later messages are answered and one is not: the window cannot move past it.
   *
   * @param certainty how sure it is
   * @param oldest how long it has been in flight
   * @param inFlight messages without an answer
   * @param behind messages answered that were sent after it
   * @param span how many may be sent after it
   * @param usual how long 99 % of the confirms take
   * @param queued messages that wait here
   */
  record WindowWaitingOnOne(
      Certainty certainty,
      Duration oldest,
      int inFlight,
      long behind,
      long span,
      Duration usual,
      long queued)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.LEDGER;
    }

    @Override
    public String what() {
      return "the window waits on one confirm, unanswered for " + Words.time(oldest);
    }

    @Override
    public List<String> evidence() {
      return List.of(
          behind + " sent after it are answered, of at most " + span + " that may be sent after it",
          inFlight
              + " are unanswered, "
              + queued
              + " wait here; confirms take "
              + Words.time(usual)
              + " at p99");
    }

    @Override
    public String remedy() {
      return "look at the queue or partition it went to: one that hangs holds up all who publish to"
          + " it";
    }
  }

  /**
   * The window is always full, and the broker has time left.
   *
   * @param certainty how sure it is
   * @param window messages that may be in flight
   * @param confirm what half of the confirms take
   * @param least the shortest confirm
   * @param perSecond messages confirmed a second
   * @param queued messages that wait here
   * @param pressedFor how long the window has been full
   */
  record WindowTooSmall(
      Certainty certainty,
      int window,
      Duration confirm,
      Duration least,
      double perSecond,
      long queued,
      Duration pressedFor)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "the window of "
          + window
          + " is too small: full for "
          + Words.time(pressedFor)
          + ", at "
          + Words.rate(perSecond)
          + " messages a second";
    }

    @Override
    public List<String> evidence() {
      return List.of(
          "confirms take "
              + Words.time(confirm)
              + " at p50 and "
              + Words.time(least)
              + " at least: the broker is not the limit",
          queued + " messages wait here");
    }

    @Override
    public String remedy() {
      return "use the adaptive window, or raise maxInFlight: throughput is at most the window over"
          + " the confirm latency";
    }
  }

  /**
   * The order that was asked for cannot be kept.
   *
   * @param certainty how sure it is
   * @param asked the order that was asked for
   * @param contradiction what takes it away
   * @param messages messages in the last seconds that it concerns
   * @param all messages taken in the last seconds
   */
  record OrderContradiction(
      Certainty certainty, String asked, String contradiction, long messages, long all)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.DISPATCHER;
    }

    @Override
    public String what() {
      return "order " + asked + " was asked for, but " + contradiction;
    }

    @Override
    public List<String> evidence() {
      return List.of(messages + " of " + all + " messages in the last seconds");
    }

    @Override
    public String remedy() {
      return "give each message its key, or let the broker deliver to one consumer at a time"
          + " (Key_Shared or Failover on Pulsar, single active consumer on RabbitMQ)";
    }
  }

  /**
   * The busiest second is near the quota, or above it.
   *
   * @param certainty how sure it is
   * @param of what is counted
   * @param peakPerSecond in the busiest second
   * @param averagePerSecond over a minute
   * @param quotaPerSecond what is allowed
   */
  record QuotaNear(
      Certainty certainty,
      String of,
      double peakPerSecond,
      double averagePerSecond,
      double quotaPerSecond)
      implements Finding {
    @Override
    public Stage stage() {
      return Stage.CLIENT;
    }

    @Override
    public String what() {
      return "quota near: "
          + Words.percent(peakPerSecond / quotaPerSecond)
          + " of it in the busiest second, "
          + of;
    }

    @Override
    public List<String> evidence() {
      return List.of(
          Words.rate(peakPerSecond)
              + " a second at most, "
              + Words.rate(averagePerSecond)
              + " on average, of "
              + Words.rate(quotaPerSecond));
    }

    @Override
    public String remedy() {
      return "spread the load over the second, or have the quota raised before it throttles";
    }
  }
}
