package io.floatvalve.model;

import java.util.Objects;

/**
 * Where a message goes to, or comes from, at a broker.
 *
 * <p>A kind that the broker does not have is refused when a publisher or consumer is opened: queues
 * and exchanges are RabbitMQ's, topics are Pulsar's. Immutable and thread-safe.
 */
public final class Address {
  /** The kinds of places a broker has. */
  public enum Kind {
    /** A RabbitMQ queue, reached through the default exchange. */
    QUEUE,
    /** A RabbitMQ exchange with a routing key. */
    EXCHANGE,
    /** A Pulsar topic. */
    TOPIC
  }

  private final Kind kind;
  private final String name;
  private final String routingKey;

  private Address(Kind kind, String name, String routingKey) {
    this.kind = kind;
    this.name = Objects.requireNonNull(name, "name");
    this.routingKey = Objects.requireNonNull(routingKey, "routingKey");
  }

  /**
   * Names a RabbitMQ queue.
   *
   * @param name the queue's name, not empty
   * @throws IllegalArgumentException if the name is empty
   */
  public static Address queue(String name) {
    return new Address(Kind.QUEUE, notEmpty("queue", name), name);
  }

  /**
   * Names a RabbitMQ exchange and the routing key for messages sent to it.
   *
   * @param name the exchange's name; empty is the default exchange, whose routing keys are queue
   *     names
   * @param routingKey the routing key, may be empty
   */
  public static Address exchange(String name, String routingKey) {
    return new Address(Kind.EXCHANGE, name, routingKey);
  }

  /**
   * Names a Pulsar topic.
   *
   * @param name short ({@code orders}) or full ({@code persistent://tenant/namespace/orders}), not
   *     empty
   * @throws IllegalArgumentException if the name is empty
   */
  public static Address topic(String name) {
    return new Address(Kind.TOPIC, notEmpty("topic", name), "");
  }

  private static String notEmpty(String what, String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException(what + " name must not be empty");
    }
    return name;
  }

  /** Returns what kind of place this is. */
  public Kind kind() {
    return kind;
  }

  /** Returns the name of the queue, exchange or topic. */
  public String name() {
    return name;
  }

  /** Returns the routing key: of an exchange as given, of a queue its name, of a topic empty. */
  public String routingKey() {
    return routingKey;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Address that
        && kind == that.kind
        && name.equals(that.name)
        && routingKey.equals(that.routingKey);
  }

  @Override
  public int hashCode() {
    return Objects.hash(kind, name, routingKey);
  }

  @Override
  public String toString() {
    return switch (kind) {
      case QUEUE -> "queue '" + name + "'";
      case EXCHANGE -> "exchange '" + name + "' with routing key '" + routingKey + "'";
      case TOPIC -> "topic '" + name + "'";
    };
  }
}
