package io.floatvalve.pulsar;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.impl.JavaStringHash;
import org.apache.pulsar.client.impl.Murmur3Hash32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Picks partitions as the client does. */
final class RoutingTest {
  private static final long LATER = 60_000_000_000L;

  private static Routing of(MessageRoutingMode mode, HashingScheme hashing, boolean batches) {
    return new Routing(mode, hashing, batches, 1);
  }

  @ParameterizedTest
  @EnumSource(HashingScheme.class)
  void key_leadsToThePartitionThatTheClientPicks(HashingScheme hashing) {
    var client =
        hashing == HashingScheme.JavaStringHash
            ? JavaStringHash.getInstance()
            : Murmur3Hash32.getInstance();
    var routing = of(MessageRoutingMode.RoundRobinPartition, hashing, false);
    Random random = new Random(7);
    for (int i = 0; i < 1_000; i++) {
      StringBuilder key = new StringBuilder("k");
      for (int c = random.nextInt(12); c > 0; c--) {
        key.append((char) (0x20 + random.nextInt(0x2000)));
      }
      int partitions = 1 + random.nextInt(20);

      int picked = routing.pick(key.toString(), partitions, i);

      assertThat(picked).isEqualTo(client.makeHash(key.toString()) % partitions);
    }
  }

  @ParameterizedTest
  @CsvSource({"hello, 248bfa47", "The quick brown fox jumps over the lazy dog, 2e4ff723"})
  void murmur3_isWhatItsAuthorSays(String text, String hash) {
    assertThat(Integer.toHexString(Routing.murmur3(text.getBytes(UTF_8)))).isEqualTo(hash);
  }

  @Test
  void withoutAKey_allPartitionsAreUsedInTurn_orOneAlone() {
    var each = of(MessageRoutingMode.RoundRobinPartition, HashingScheme.JavaStringHash, false);
    int first = each.pick(null, 3, System.nanoTime());
    assertThat(each.pick(null, 3, System.nanoTime())).isEqualTo((first + 1) % 3);
    assertThat(each.pick("", 3, System.nanoTime())).isEqualTo((first + 2) % 3);

    long now = System.nanoTime();
    var batches = of(MessageRoutingMode.RoundRobinPartition, HashingScheme.JavaStringHash, true);
    int stays = batches.pick(null, 3, now);
    assertThat(batches.pick(null, 3, now)).isEqualTo(stays);
    assertThat(batches.pick(null, 3, now + LATER)).isEqualTo((stays + 1) % 3);
    assertThat(batches.pick(null, 3, now + LATER)).isEqualTo((stays + 1) % 3);

    var one = of(MessageRoutingMode.SinglePartition, HashingScheme.JavaStringHash, false);
    int only = one.pick(null, 3, now);
    assertThat(one.pick(null, 3, now + LATER)).isEqualTo(only);
  }
}
