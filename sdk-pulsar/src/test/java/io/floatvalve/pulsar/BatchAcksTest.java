package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.pulsar.BatchAcks.Batch;
import org.junit.jupiter.api.Test;

final class BatchAcksTest {
  private final BatchAcks acks = new BatchAcks();

  @Test
  void lastOfABatch_completesIt_andItIsForgotten() {
    Batch batch = acks.of(1, 1, 3);
    for (int i = 0; i < 3; i++) {
      assertThat(acks.of(1, 1, 3).take(i)).isTrue();
    }

    assertThat(batch.ack(2)).isFalse();
    assertThat(acks.partly()).isEqualTo(1);
    assertThat(batch.ack(0)).isFalse();
    assertThat(batch.ack(1)).isTrue();

    assertThat(acks.partly()).isZero();
    assertThat(acks.size()).isZero();
    assertThat(acks.of(1, 1, 3)).isNotSameAs(batch);
  }

  @Test
  void whatIsAcknowledged_isNotTakenAgain() {
    Batch batch = acks.of(1, 1, 2);
    batch.take(0);
    batch.ack(0);

    assertThat(acks.of(1, 1, 2).take(0)).isFalse();
    assertThat(acks.of(1, 1, 2).take(1)).isTrue();
  }

  @Test
  void acknowledgedTwice_countsOnce() {
    Batch batch = acks.of(1, 1, 2);
    batch.take(0);
    batch.take(0);

    assertThat(batch.ack(0)).isFalse();
    assertThat(batch.ack(0)).isFalse();
    assertThat(acks.partly()).isEqualTo(1);
  }

  @Test
  void batchGivenBackAsAWhole_leavesNothingBehind() {
    Batch batch = acks.of(1, 1, 2);
    batch.take(0);
    batch.take(1);
    assertThat(acks.begun(1, 1)).isTrue();

    batch.giveBack(2);

    assertThat(acks.begun(1, 1)).isFalse();
    assertThat(acks.size()).isZero();
    assertThat(acks.of(1, 1, 2)).isNotSameAs(batch);
  }

  @Test
  void manyBatches_areForgottenInTheirOrder() {
    Batch first = acks.of(1, 0, 2);
    first.take(0);
    first.ack(0);
    for (int i = 1; i <= 10_000; i++) {
      acks.of(1, i, 2);
    }

    assertThat(acks.size()).isEqualTo(10_000);
    assertThat(acks.partly()).isZero();
    first.take(1);
    assertThat(first.ack(1)).isTrue();
  }
}
