package io.floatvalve.rate;

import io.floatvalve.Interleavings;
import io.floatvalve.model.Address;
import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import org.jetbrains.lincheck.datastructures.IntGen;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.junit.jupiter.api.Test;

/** Pacer, its gates and budgets from several threads; and what they count with, alone. */
final class PacerInterleavingsTest {
  @Test
  void everyInterleaving_isSomeOrder() {
    Interleavings.race(Pacing.class); // exploring takes a loop over 101 buckets for an endless one
  }

  @Test
  void theGuardWithoutThePacersLock_losesCount() {
    Interleavings.findsTheRaceIn(BareGuard.class);
  }

  /** What publishers, consumers, the detector and the application do, in the same second. */
  @Param(name = "gate", gen = IntGen.class, conf = "0:1")
  @Param(name = "tenths", gen = IntGen.class, conf = "0:12")
  public static final class Pacing {
    private static final Address TOPIC = Address.topic("t");
    private static final QuotaPolicy RULES =
        QuotaPolicy.none()
            .withHeadroom(1)
            .withPublish(Scope.CLUSTER, Quota.messagesPerSecond(3))
            .withPublish(Scope.TOPIC, Quota.bytesPerSecond(10))
            .withConsume(Scope.TOPIC, Quota.messagesPerSecond(20));

    private final Pacer pacer = new Pacer(RULES, 0);
    private final Gate[] gates = {pacer.gate(), pacer.gate()};

    @Operation
    public long publish(@Param(name = "gate") int gate, @Param(name = "tenths") int tenths) {
      return gates[gate].take(Kind.PUBLISH, TOPIC, Gate.ANY_PARTITION, 1, 3, tenths * 100_000_000L);
    }

    @Operation
    public long consume(@Param(name = "gate") int gate, @Param(name = "tenths") int tenths) {
      return gates[gate].take(Kind.CONSUME, TOPIC, 0, 1, 1, tenths * 100_000_000L);
    }

    @Operation
    public void leave(@Param(name = "gate") int gate) {
      gates[gate].leave();
    }

    @Operation
    public void consumers() {
      gates[0].consumers(TOPIC, 1);
    }

    @Operation
    public int messagesAhead() {
      return gates[1].messagesAhead(TOPIC);
    }

    @Operation
    public void halve() {
      pacer.scaleTo(Kind.PUBLISH, 0.5);
    }

    @Operation
    public double part() {
      return pacer.part(Kind.PUBLISH);
    }

    @Operation
    public void change() {
      pacer.changeTo(RULES.withPublish(Scope.CLUSTER, Quota.messagesPerSecond(2)));
    }
  }

  /** What counts a second's bytes, with nothing that keeps two threads apart. */
  public static final class BareGuard {
    private final ByteGuard guard = new ByteGuard(1_000, 1_000_000_000);

    @Operation
    public void enter() {
      guard.enter(1, 0);
    }

    @Operation
    public long sum() {
      return guard.sum(0);
    }
  }
}
