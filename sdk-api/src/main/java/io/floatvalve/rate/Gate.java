package io.floatvalve.rate;

import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The way of one publisher or consumer through the quotas of a {@link Pacer}. Thread-safe; holds no
 * thread. The engine's; applications do not call it.
 */
public final class Gate {
  /** The answer for a message that is larger than all that may pass in a second. */
  public static final long TOO_LARGE = Long.MAX_VALUE;

  /** No partition, or none that is known. */
  public static final int ANY_PARTITION = -1;

  /** The budgets on the way to one place, of each kind. */
  static final class Way {
    final Address address;
    final int partition;
    private final Budget[] publish;
    private final Budget[] delayedPublish;
    private final Budget[] consume;

    Way(Address address, int partition, Function<Kind, Budget[]> budgets) {
      this.address = address;
      this.partition = partition;
      this.publish = budgets.apply(Kind.PUBLISH);
      this.delayedPublish = budgets.apply(Kind.DELAYED_PUBLISH);
      this.consume = budgets.apply(Kind.CONSUME);
    }

    Budget[] budgets(Kind kind) {
      return switch (kind) {
        case PUBLISH -> publish;
        case DELAYED_PUBLISH -> delayedPublish;
        case CONSUME -> consume;
      };
    }

    boolean leadsTo(Address other, int otherPartition) {
      return partition == otherPartition && address.equals(other);
    }
  }

  private final Pacer pacer;

  // guarded by the pacer's lock
  final Map<Address, Way[]> ways = new HashMap<>();
  @Nullable Way last;
  int waysOf; // the version of the rules that they are of
  @Nullable Budget waitsAt;
  boolean isWaiting; // counted as one that waits, since then
  long waitingSince;
  long dueNanos; // when it comes again
  boolean claims; // what there is until then

  Gate(Pacer pacer) {
    this.pacer = pacer;
  }

  /** Returns what this is a gate of. */
  public Pacer pacer() {
    return pacer;
  }

  /**
   * Lets one message pass all quotas on its way, or none of them.
   *
   * @param kind what is done with it
   * @param address where it goes to or comes from
   * @param partition of the address, from 0; or {@link #ANY_PARTITION}
   * @param cost how many messages it counts as, from 1
   * @param bytes of payload
   * @param now {@link System#nanoTime}
   * @return 0 if it passes now, and is counted; {@link #TOO_LARGE}; else in how many nanoseconds to
   *     try again
   */
  public long take(Kind kind, Address address, int partition, int cost, long bytes, long now) {
    return pacer.take(this, kind, address, partition, cost, bytes, now);
  }

  /**
   * Counts a message that is published whether quotas admit it or not: a copy for a retry, or a
   * dead letter. Whatever is published after it by the same quotas of the cluster waits for longer.
   *
   * @param kind {@link Kind#PUBLISH} or {@link Kind#DELAYED_PUBLISH}
   * @param bytes of payload
   * @param now {@link System#nanoTime}
   */
  public void count(Kind kind, long bytes, long now) {
    pacer.count(kind, bytes, now);
  }

  /** Nothing waits here any more; what comes next waits anew. */
  public void leave() {
    pacer.leave(this);
  }

  /**
   * Notes that a consumer begins, or ends, to share the quotas for consuming from an address.
   *
   * @param change 1 or -1
   */
  public void consumers(Address address, int change) {
    pacer.consumers(address, change);
  }

  /**
   * Returns how many messages one of the consumers of an address may be sent in half a second, if
   * all have as much; at least 1.
   */
  public int messagesAhead(Address address) {
    return (int) Math.max(1, Math.min(Integer.MAX_VALUE, pacer.messagesAhead(this, address)));
  }

  /**
   * Returns how many bytes one of the consumers of an address may be sent in half a second, if all
   * have as much; at least 1.
   */
  public long bytesAhead(Address address) {
    return Math.max(1, pacer.bytesAhead(this, address));
  }
}
