package io.floatvalve.explain;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * What the broker says of one place, a queue or a subscription, by its administration interface.
 *
 * <p>What a broker does not tell is empty, never zero. Begin with {@link #from} and add what is
 * known. Immutable.
 *
 * @param source who says so, such as {@code Pulsar admin at http://localhost:8080}; no secret
 * @param age how long ago it was asked
 * @param spread whom the broker gives messages to
 * @param backlog messages there that nobody has acknowledged, delivered or not
 * @param unacked of these, delivered to a consumer
 * @param unackedLimit how many one consumer may leave unacknowledged before it gets no more
 * @param consumers all that share the place, this process's own among them
 * @param drainingKeys key ranges that wait for another consumer's acknowledgements before their new
 *     owner gets their messages (Pulsar Key_Shared: draining hashes)
 * @param drainingUnacked messages those acknowledgements are missing for
 * @param drainingHolder the consumer that holds them, or empty
 * @param dispatchThrottled how often delivery was held back by a rate limit since the view before
 *     this one; zero in the first
 * @param publishThrottled how often publishing was held back by a rate limit since the view before
 *     this one; zero in the first, and where the limit is not known or was not nearly reached: some
 *     brokers count other pauses, too
 * @param storedBytes what the broker keeps for it, acknowledged messages that it cannot drop yet
 *     among them
 * @param alarm what the broker raises an alarm for, such as {@code memory}, or empty
 */
public record BrokerView(
    String source,
    Duration age,
    Spread spread,
    OptionalLong backlog,
    OptionalLong unacked,
    OptionalLong unackedLimit,
    List<Member> consumers,
    OptionalLong drainingKeys,
    OptionalLong drainingUnacked,
    String drainingHolder,
    OptionalLong dispatchThrottled,
    OptionalLong publishThrottled,
    OptionalLong storedBytes,
    String alarm) {

  /** Copies the list. */
  public BrokerView {
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(age, "age");
    consumers = List.copyOf(consumers);
  }

  /** Whom a broker gives messages to. */
  public enum Spread {
    /** Not known. */
    UNKNOWN,
    /** All consumers in turn: no order survives several of them. */
    SHARED,
    /** Each key to one consumer. */
    BY_KEY,
    /** One consumer at a time. */
    ONE
  }

  /**
   * One consumer as the broker knows it.
   *
   * @param name as the broker lists it
   * @param own whether it is the one that is being explained
   * @param permits how many more messages the broker may send to it; may be negative
   * @param unacked messages it was sent and has not acknowledged
   * @param blockedOnUnacked whether it gets no more until it acknowledges
   */
  public record Member(
      String name,
      boolean own,
      OptionalLong permits,
      OptionalLong unacked,
      boolean blockedOnUnacked) {}

  /**
   * Begins one in which nothing is known.
   *
   * @param source who will say, no secret
   * @param age how long ago it was asked
   */
  public static BrokerView from(String source, Duration age) {
    OptionalLong unknown = OptionalLong.empty();
    return new BrokerView(
        source,
        age,
        Spread.UNKNOWN,
        unknown,
        unknown,
        unknown,
        List.of(),
        unknown,
        unknown,
        "",
        unknown,
        unknown,
        unknown,
        "");
  }

  /** Returns one that is so old. */
  public BrokerView withAge(Duration asked) {
    return new BrokerView(
        source,
        asked,
        spread,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /** Returns one with whom messages are given to. */
  public BrokerView withSpread(Spread known) {
    return new BrokerView(
        source,
        age,
        known,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /**
   * Returns one with a backlog.
   *
   * @param messages that nobody has acknowledged, delivered or not
   * @param delivered of these, delivered
   */
  public BrokerView withBacklog(long messages, long delivered) {
    return new BrokerView(
        source,
        age,
        spread,
        OptionalLong.of(messages),
        OptionalLong.of(delivered),
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /** Returns one with a limit to what a consumer may leave unacknowledged. */
  public BrokerView withUnackedLimit(long messages) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        OptionalLong.of(messages),
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /** Returns one with all consumers of the place. */
  public BrokerView withConsumers(List<Member> all) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        unackedLimit,
        all,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /**
   * Returns one with keys that wait for another consumer.
   *
   * @param keys key ranges, zero for none
   * @param messages whose acknowledgements are missing
   * @param holder the consumer that holds them, or empty
   */
  public BrokerView withDraining(long keys, long messages, String holder) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        OptionalLong.of(keys),
        OptionalLong.of(messages),
        holder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        alarm);
  }

  /**
   * Returns one with how often rate limits held something back since the view before.
   *
   * @param dispatch deliveries
   * @param publish publishing
   */
  public BrokerView withThrottled(long dispatch, long publish) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        OptionalLong.of(dispatch),
        OptionalLong.of(publish),
        storedBytes,
        alarm);
  }

  /** Returns one with what the broker keeps. */
  public BrokerView withStoredBytes(long bytes) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        OptionalLong.of(bytes),
        alarm);
  }

  /** Returns one with an alarm of the broker's. */
  public BrokerView withAlarm(String raised) {
    return new BrokerView(
        source,
        age,
        spread,
        backlog,
        unacked,
        unackedLimit,
        consumers,
        drainingKeys,
        drainingUnacked,
        drainingHolder,
        dispatchThrottled,
        publishThrottled,
        storedBytes,
        raised);
  }

  /** Returns how many messages nobody was sent yet; empty where that is not known. */
  public OptionalLong undelivered() {
    return backlog.isPresent() && unacked.isPresent()
        ? OptionalLong.of(Math.max(0, backlog.getAsLong() - unacked.getAsLong()))
        : OptionalLong.empty();
  }
}
