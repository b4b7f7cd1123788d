package io.floatvalve.rabbit;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PrefetchTest {
  private static final long NO_LIMIT = 1L << 40;

  @Test
  void prefetch_isPermitsAndSlotsAndOneBatch() {
    for (int slots : new int[] {1, 4, 16, 100}) {
      for (int permits : new int[] {1, 2, 64, 1_000, 10_000}) {
        int prefetch = Prefetch.of(permits, slots, NO_LIMIT, 0);
        int batch = Prefetch.batch(prefetch, slots);

        assertThat(prefetch).isBetween(permits + slots + batch, permits + slots + batch + 1);
        assertThat(batch).isBetween(1, Math.max(1, prefetch / 5)); // well below the prefetch
      }
    }
  }

  @Test
  void prefetch_staysWithinWhatTheProtocolCounts() {
    assertThat(Prefetch.of(100_000, 10_000, NO_LIMIT, 0)).isEqualTo(0xFFFF);
  }

  @Test
  void largeMessages_lowerThePrefetch_toAtLeastOne() {
    assertThat(Prefetch.of(1_000, 16, 32 << 20, 1 << 20)).isEqualTo(64);
    assertThat(Prefetch.of(1_000, 16, 32 << 20, 100 << 20)).isEqualTo(1);
    assertThat(Prefetch.batch(1, 16)).isEqualTo(1);
  }

  @Test
  void messagesThatNobodyHasSeen_countAsOneMebibyteEach() {
    assertThat(Prefetch.of(4, 16, 32 << 20, Prefetch.UNSEEN_BYTES)).isEqualTo(24);
    assertThat(Prefetch.of(1_000, 16, 32 << 20, Prefetch.UNSEEN_BYTES)).isEqualTo(64);
    assertThat(Prefetch.of(1_000, 16, 1 << 20, Prefetch.UNSEEN_BYTES)).isEqualTo(2);
  }

  @Test
  void sizes_countAtOnce_andAreForgottenSlowly() {
    double peak = Prefetch.peak(0, 1_000);
    assertThat(peak).isEqualTo(1_000);
    assertThat(Prefetch.peak(peak, 0)).isBetween(900.0, 999.0);
  }

  @Test
  void change_waitsUntilTheOneBeforeHasDrained_butHandlersDoNotHoldUpAShrinking() {
    assertThat(Prefetch.mayChange(10, 100, 0, 4)).isTrue();
    assertThat(Prefetch.mayChange(10, 100, 1, 4)).isFalse();
    assertThat(Prefetch.mayChange(100, 10, 4, 4)).isTrue();
    assertThat(Prefetch.mayChange(100, 10, 5, 4)).isFalse();
  }
}
