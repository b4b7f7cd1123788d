package io.floatvalve.pulsar;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageRouter;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.TopicMetadata;
import org.jspecify.annotations.Nullable;

/**
 * Picks the partition of each message, as the client does by itself, but so that it can be asked
 * before the message is sent: whoever counts by partitions must know. A key always leads to the
 * same partition; what has none goes to all in turn, or to one that is picked at random.
 *
 * <p>Used by one thread at a time, the one that sends.
 */
final class Routing implements MessageRouter {
  /*
   * The client asks its router on the thread that sends, from within the call. So what was picked
   * before is handed over by a field. The hashes are what all clients agree on: that of Java's
   * strings, and MurmurHash3 in its variant of 32 bits (Appleby, public domain) with the seed 0, both
   * without their sign.
   */
  private static final long serialVersionUID = 1L;
  private static final int LINGERS = 10; // so many on one partition, as the client has it
  private static final int ANY = -1;

  private final HashingScheme hashing;
  private final boolean single;
  private final long stayNanos; // on one partition; 0 for one message
  private int next = ThreadLocalRandom.current().nextInt(1 << 20);
  private long nextNanos;
  private int picked = ANY;

  Routing(MessageRoutingMode mode, HashingScheme hashing, boolean batches, long lingerMillis) {
    this.hashing = hashing;
    this.single = mode == MessageRoutingMode.SinglePartition;
    this.stayNanos = batches ? TimeUnit.MILLISECONDS.toNanos(LINGERS * lingerMillis) : 0;
    this.nextNanos = System.nanoTime();
  }

  /** Picks a partition. */
  int pick(@Nullable String key, int partitions, long nowNanos) {
    if (key != null && !key.isEmpty()) {
      return hash(key) % partitions;
    }
    if (!single && nowNanos - nextNanos >= stayNanos) {
      next = (next + 1) & Integer.MAX_VALUE;
      nextNanos = nowNanos;
    }
    return next % partitions;
  }

  /** Sends the message that the client is given next to this partition. */
  void to(int partition) {
    picked = partition;
  }

  /** What was to go to a partition is with the client. */
  void done() {
    picked = ANY;
  }

  @Override
  public int choosePartition(Message<?> message, TopicMetadata metadata) {
    int partitions = metadata.numPartitions();
    return picked != ANY && picked < partitions
        ? picked
        : pick(message.hasKey() ? message.getKey() : null, partitions, System.nanoTime());
  }

  private int hash(String key) {
    return switch (hashing) {
          case JavaStringHash -> key.hashCode();
          case Murmur3_32Hash -> murmur3(key.getBytes(UTF_8));
        }
        & Integer.MAX_VALUE;
  }

  /** Returns the MurmurHash3 of 32 bits. */
  static int murmur3(byte[] bytes) {
    int hash = 0;
    int whole = bytes.length & ~3;
    for (int i = 0; i < whole; i += 4) {
      int block =
          (bytes[i] & 0xff)
              | ((bytes[i + 1] & 0xff) << 8)
              | ((bytes[i + 2] & 0xff) << 16)
              | ((bytes[i + 3] & 0xff) << 24);
      hash = Integer.rotateLeft(hash ^ mixed(block), 13) * 5 + 0xe6546b64;
    }
    int rest = 0;
    for (int i = bytes.length - 1; i >= whole; i--) {
      rest = (rest << 8) | (bytes[i] & 0xff);
    }
    if (whole < bytes.length) {
      hash ^= mixed(rest);
    }
    hash ^= bytes.length;
    hash = (hash ^ (hash >>> 16)) * 0x85ebca6b;
    hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
    return hash ^ (hash >>> 16);
  }

  private static int mixed(int block) {
    return Integer.rotateLeft(block * 0xcc9e2d51, 15) * 0x1b873593;
  }
}
