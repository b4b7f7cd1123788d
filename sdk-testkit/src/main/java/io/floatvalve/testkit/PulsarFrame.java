package io.floatvalve.testkit;

import java.util.List;

/**
 * A command of Pulsar's binary protocol as it went over the wire. Immutable.
 *
 * <p>Numbers of consumers and producers are those of the connection they travel on.
 *
 * @see <a href="https://pulsar.apache.org/docs/developing-binary-protocol/">the protocol</a>
 */
public sealed interface PulsarFrame {
  /** Returns where and when the command was seen. */
  Seen seen();

  /**
   * Where and when a command was seen.
   *
   * @param connection the number of the connection through the proxy, from 1
   * @param nanos the {@link System#nanoTime} at which the last byte of it went by
   */
  record Seen(int connection, FaultProxy.Direction direction, long nanos) {}

  /** The place of an entry in a topic. One entry holds one message or one batch. */
  record Entry(long ledger, long entry) {}

  /**
   * A consumer was opened.
   *
   * @param topic as the client wrote it, short or full
   * @param type as the protocol has it: Exclusive, Shared, Failover or Key_Shared
   */
  record Subscribe(Seen seen, long consumer, String topic, String subscription, String type)
      implements PulsarFrame {}

  /** A consumer allowed the broker to send it so many messages more. */
  record Flow(Seen seen, long consumer, int permits) implements PulsarFrame {}

  /**
   * The broker sent an entry to a consumer.
   *
   * @param messages how many messages it holds: 1, or the size of the batch
   * @param redeliveries how often the broker sent it before, as the broker counts
   * @param bytes the size of the payload, as compressed
   */
  record Message(Seen seen, long consumer, Entry entry, int messages, int redeliveries, int bytes)
      implements PulsarFrame {}

  /**
   * A consumer acknowledged.
   *
   * @param cumulative whether everything before is meant as well
   */
  record Ack(Seen seen, long consumer, boolean cumulative, List<Entry> entries)
      implements PulsarFrame {
    /** Copies the entries. */
    public Ack {
      entries = List.copyOf(entries);
    }
  }

  /** A consumer gave entries back; no entry means everything it has not acknowledged. */
  record RedeliverUnacknowledged(Seen seen, long consumer, List<Entry> entries)
      implements PulsarFrame {
    /** Copies the entries. */
    public RedeliverUnacknowledged {
      entries = List.copyOf(entries);
    }
  }

  /**
   * A producer sent an entry.
   *
   * @param messages how many messages it holds: 1, or the size of the batch
   * @param bytes the size of the payload, as compressed
   */
  record Send(Seen seen, long producer, long sequence, int messages, int bytes)
      implements PulsarFrame {}

  /** The broker confirmed an entry. */
  record SendReceipt(Seen seen, long producer, long sequence, Entry entry) implements PulsarFrame {}

  /** The broker refused an entry. */
  record SendError(Seen seen, long producer, long sequence, String error, String text)
      implements PulsarFrame {}

  /** Any other command, by the name that the protocol has for it. */
  record Other(Seen seen, String name) implements PulsarFrame {}
}
