package io.floatvalve.testkit;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;

/**
 * The limits of a topic, a namespace or a subscription of a Pulsar broker.
 *
 * <p>A method that sets or removes one returns once the broker reads it back so, which it does from
 * its own system topic; the topics concerned follow within moments. Throws as {@link PulsarRest}
 * does, and {@link UnsupportedOperationException} for a limit that the scope does not have.
 * Thread-safe.
 */
public final class PulsarLimits {
  /** Stands for no limit of the one kind in a {@link Rate}. */
  public static final long NONE = -1;

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final PulsarRest rest;
  private final Scope scope;
  private final String path;

  PulsarLimits(PulsarRest rest, Scope scope, String path) {
    this.rest = rest;
    this.scope = scope;
    this.path = path;
  }

  /**
   * A rate.
   *
   * @param messagesPerSecond from 1, or {@link #NONE}
   * @param bytesPerSecond from 1, or {@link #NONE}
   */
  public record Rate(int messagesPerSecond, long bytesPerSecond) {
    /** Limits messages only. */
    public static Rate ofMessages(int perSecond) {
      return new Rate(perSecond, NONE);
    }

    /** Limits bytes only. */
    public static Rate ofBytes(long perSecond) {
      return new Rate((int) NONE, perSecond);
    }
  }

  /** Limits what producers may publish to each topic. */
  public void setPublishRate(Rate rate) {
    set(Kind.PUBLISH, rate);
  }

  /** Returns the limit set by {@link #setPublishRate}. */
  public Optional<Rate> publishRate() {
    return rate(Kind.PUBLISH);
  }

  /** Limits what the broker sends out of each topic, or of one subscription. */
  public void setDispatchRate(Rate rate) {
    set(Kind.DISPATCH, rate);
  }

  /** Returns the limit set by {@link #setDispatchRate}. */
  public Optional<Rate> dispatchRate() {
    return rate(Kind.DISPATCH);
  }

  /** Limits what the broker sends to each subscription of each topic. */
  public void setSubscriptionDispatchRate(Rate rate) {
    set(Kind.SUBSCRIPTION_DISPATCH, rate);
  }

  /** Returns the limit set by {@link #setSubscriptionDispatchRate}. */
  public Optional<Rate> subscriptionDispatchRate() {
    return rate(Kind.SUBSCRIPTION_DISPATCH);
  }

  /**
   * Limits how many messages a consumer may hold unacknowledged before the broker sends it no more.
   *
   * @param messages 0 for no limit
   */
  public void setMaxUnackedMessagesPerConsumer(int messages) {
    rest.send("POST", unackedPath(), Integer.toString(messages));
    awaitThat(
        "the limit of unacknowledged messages",
        () -> maxUnackedMessagesPerConsumer().equals(OptionalInt.of(messages)));
  }

  /** Returns the limit set by {@link #setMaxUnackedMessagesPerConsumer}. */
  public OptionalInt maxUnackedMessagesPerConsumer() {
    String answer = rest.send("GET", unackedPath(), "").strip();
    return answer.isEmpty() || answer.equals("null")
        ? OptionalInt.empty()
        : OptionalInt.of(Integer.parseInt(answer));
  }

  /** Removes every limit of the scope; those of a wider one hold again. */
  public void removeAll() {
    for (Kind kind : Kind.values()) {
      if (scope.has(kind)) {
        rest.send("DELETE", path + kind.path, "");
        awaitThat("no " + kind.path, () -> rate(kind).isEmpty());
      }
    }
    if (scope != Scope.SUBSCRIPTION) {
      rest.send("DELETE", unackedPath(), "");
      awaitThat(
          "no limit of unacknowledged messages", () -> maxUnackedMessagesPerConsumer().isEmpty());
    }
  }

  private void set(Kind kind, Rate rate) {
    check(kind);
    rest.send("POST", path + kind.path, kind.json(rate));
    awaitThat(kind.path + " of " + rate, () -> rate(kind).equals(Optional.of(rate)));
  }

  private Optional<Rate> rate(Kind kind) {
    check(kind);
    String answer = rest.send("GET", path + kind.path, "").strip();
    if (answer.isEmpty() || answer.equals("null")) {
      return Optional.empty();
    }
    PulsarStats values = new PulsarStats(answer);
    return Optional.of(new Rate((int) values.number(kind.messages), values.number(kind.bytes)));
  }

  private void check(Kind kind) {
    if (!scope.has(kind)) {
      throw new UnsupportedOperationException("a " + scope + " has no " + kind.path);
    }
  }

  private String unackedPath() {
    return switch (scope) {
      case TOPIC -> path + "/maxUnackedMessagesOnConsumer";
      case NAMESPACE -> path + "/maxUnackedMessagesPerConsumer";
      case SUBSCRIPTION ->
          throw new UnsupportedOperationException("a subscription has no limit per consumer");
    };
  }

  private static void awaitThat(String what, Callable<Boolean> holds) {
    Awaitility.await(what)
        .atMost(PATIENCE)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20))
        .until(holds);
  }

  /** What the limits hold for. */
  enum Scope {
    TOPIC,
    NAMESPACE,
    SUBSCRIPTION;

    boolean has(Kind kind) {
      return this != SUBSCRIPTION || kind == Kind.DISPATCH;
    }
  }

  /** A limit of a rate, and what the REST calls its parts. */
  private enum Kind {
    PUBLISH("/publishRate", "publishThrottlingRateInMsg", "publishThrottlingRateInByte"),
    DISPATCH("/dispatchRate", "dispatchThrottlingRateInMsg", "dispatchThrottlingRateInByte"),
    SUBSCRIPTION_DISPATCH(
        "/subscriptionDispatchRate", "dispatchThrottlingRateInMsg", "dispatchThrottlingRateInByte");

    final String path;
    final String messages;
    final String bytes;

    Kind(String path, String messages, String bytes) {
      this.path = path;
      this.messages = messages;
      this.bytes = bytes;
    }

    String json(Rate rate) {
      String period = this == PUBLISH ? "" : ",\"ratePeriodInSecond\":1";
      return "{\""
          + messages
          + "\":"
          + rate.messagesPerSecond()
          + ",\""
          + bytes
          + "\":"
          + rate.bytesPerSecond()
          + period
          + "}";
    }
  }
}
