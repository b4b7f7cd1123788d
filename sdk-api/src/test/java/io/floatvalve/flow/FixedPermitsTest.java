package io.floatvalve.flow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.flow.PermitLaw.Seen;
import org.junit.jupiter.api.Test;

/** The fixed law, how large messages are, and the policy that both laws come from. */
final class FixedPermitsTest {
  private static Seen waiting(long bytes) {
    return new Seen(1, 1, 0, -1, true, bytes);
  }

  @Test
  void fixed_isTheSameWhateverHappens() {
    PermitLaw law = PermitPolicy.fixed(10).law(3);

    assertThat(law.permits()).isEqualTo(10);
    assertThat(law.ranEmpty(1, 10, 0, 0, 1)).isEqualTo(10);
    assertThat(law.tick(waiting(0))).isEqualTo(10);
    assertThat(law.turnedSlow()).isEqualTo(10);
    assertThat(law.stuck()).isEqualTo(10);
    assertThat(law.permits()).isEqualTo(10);
  }

  @Test
  void fixed_isLowered_toWhatTheBytesAllow() {
    PermitLaw law = PermitPolicy.fixed(10).withMaxBytes(100).law(3);
    law.taken(50);

    assertThat(law.tick(waiting(100))).isEqualTo(2);
    assertThat(law.ranEmpty(1, 10, 0, 0, 1)).isEqualTo(2);
    assertThat(law.turnedSlow()).isEqualTo(2);
    assertThat(law.stuck()).isEqualTo(2);
    assertThat(law.permits()).isEqualTo(2);
    assertThat(law.tick(waiting(101))).isEqualTo(1);
    assertThat(law.tick(waiting(0))).isEqualTo(2);
  }

  @Test
  void fewerMayBeWanted_forTheirNumberOrTheirBytes() {
    PermitLaw law = PermitPolicy.fixed(10).law(3);

    assertThat(law.permits(5, 1)).isEqualTo(5);
    assertThat(law.permits(50, 1)).isEqualTo(10);
    law.taken(50);
    assertThat(law.permits(5, 100)).isEqualTo(2);
    assertThat(law.permits(5, 10)).isEqualTo(1);
  }

  @Test
  void sizes_jumpUp_andAreForgottenSlowly() {
    SizePeak size = new SizePeak();
    assertThat(size.fitting(1, 7)).isEqualTo(7);
    size.saw(1);
    assertThat(size.fitting(5, 7)).isEqualTo(5);
    size.saw(1_000);
    assertThat(size.fitting(10_000, 100)).isEqualTo(10);
    size.saw(0);
    assertThat(size.fitting(9_800, 100)).isEqualTo(10);
    assertThat(size.fitting(9_799, 100)).isEqualTo(9);
    for (int i = 0; i < 600; i++) {
      size.saw(10);
    }
    assertThat(size.fitting(1_000, 100)).isBetween(99, 100);
  }

  @Test
  void sizesThatAreNotKnown_countAsAMebibyte() {
    assertThat(SizePeak.fittingUnseen(10 << 20)).isEqualTo(10);
    assertThat(SizePeak.fittingUnseen(1)).isEqualTo(1);
    assertThat(SizePeak.fittingUnseen(Long.MAX_VALUE)).isEqualTo(Integer.MAX_VALUE);
  }

  @Test
  void policy_takesItsBoundsAndNothingBeyond() {
    assertThat(PermitPolicy.fixed(1).most()).isEqualTo(1);
    assertThat(PermitPolicy.fixed(100_000).least()).isEqualTo(100_000);
    assertThat(PermitPolicy.adaptive().withBounds(5, 5).least()).isEqualTo(5);
    assertThat(PermitPolicy.fixed(1).withMaxBytes(1).maxBytes()).isEqualTo(1);
    assertThat(PermitPolicy.fixed(1).withMaxBytes(1L << 40).maxBytes()).isEqualTo(1L << 40);
    assertThatThrownBy(() -> PermitPolicy.fixed(0)).hasMessageContaining("0 to 0");
    assertThatThrownBy(() -> PermitPolicy.fixed(100_001)).hasMessageContaining("100001");
    assertThatThrownBy(() -> PermitPolicy.adaptive().withBounds(6, 5))
        .hasMessageContaining("6 to 5");
    assertThatThrownBy(() -> PermitPolicy.fixed(1).withMaxBytes(0)).hasMessageContaining("was 0");
    assertThatThrownBy(() -> PermitPolicy.fixed(1).withMaxBytes((1L << 40) + 1))
        .hasMessageContaining("was 1099511627777");
    assertThatThrownBy(() -> PermitPolicy.fixed(1).withBounds(1, 2))
        .isInstanceOf(IllegalStateException.class);
  }

  @Test
  void policy_saysWhatItIs() {
    assertThat(PermitPolicy.fixed(3).isAdaptive()).isFalse();
    assertThat(PermitPolicy.adaptive().isAdaptive()).isTrue();
    assertThat(PermitPolicy.fixed(3).withMaxBytes(9)).hasToString("fixed 3, 9 bytes");
    assertThat(PermitPolicy.adaptive()).hasToString("adaptive 2 to 1000, 33554432 bytes");
  }
}
