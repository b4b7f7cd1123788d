package io.floatvalve.examples.lab.soak;

import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.time.Duration;
import java.util.List;

/** What happens on the way to a broker, and to the client, whatever the broker is. */
final class Network {
  private final List<FaultProxy> proxies;

  Network(List<FaultProxy> proxies) {
    this.proxies = List.copyOf(proxies);
  }

  List<Fault> faults() {
    return List.of(
        new Fault("rst", soak -> cut(soak, Cut.RESET)),
        new Fault("fin", soak -> cut(soak, Cut.END)),
        new Fault("stall", this::stall),
        new Fault("latency", this::latency),
        new Fault("rate", this::rate),
        new Fault("slow", soak -> handlers(soak, "slow", 5 + soak.upTo(40))),
        new Fault("throw", soak -> handlers(soak, "throw", 50 + soak.upTo(300))),
        new Fault("pause", Soak::haltClient),
        new Fault("client-kill", Soak::killClient));
  }

  private void cut(Soak soak, Cut how) throws InterruptedException {
    if (soak.upTo(2) == 0) {
      proxies.forEach(proxy -> proxy.stall(Direction.FROM_BROKER)); // some are then unanswered
      soak.pass(Duration.ofMillis(50 + soak.upTo(200)));
    }
    proxies.forEach(proxy -> proxy.cut(how));
    proxies.forEach(FaultProxy::unstall);
  }

  private void stall(Soak soak) throws InterruptedException {
    int which = soak.upTo(3);
    for (FaultProxy proxy : proxies) {
      if (which != 1) {
        proxy.stall(Direction.TO_BROKER);
      }
      if (which != 0) {
        proxy.stall(Direction.FROM_BROKER);
      }
    }
    soak.pass(Duration.ofMillis(500 + soak.upTo(8_000))); // more and less than any timeout
    proxies.forEach(FaultProxy::unstall);
  }

  private void latency(Soak soak) throws InterruptedException {
    Duration delay = Duration.ofMillis(10 + soak.upTo(200));
    for (FaultProxy proxy : proxies) {
      for (Direction direction : Direction.values()) {
        proxy.delay(direction, delay);
      }
    }
    soak.pass(Duration.ofMillis(1_000 + soak.upTo(2_000)));
    for (FaultProxy proxy : proxies) {
      for (Direction direction : Direction.values()) {
        proxy.delay(direction, Duration.ZERO);
      }
    }
  }

  private void rate(Soak soak) throws InterruptedException {
    long bytes = 20_000L + soak.upTo(500_000);
    for (FaultProxy proxy : proxies) {
      for (Direction direction : Direction.values()) {
        proxy.rate(direction, bytes);
      }
    }
    soak.pass(Duration.ofMillis(1_000 + soak.upTo(2_000)));
    for (FaultProxy proxy : proxies) {
      for (Direction direction : Direction.values()) {
        proxy.unlimited(direction);
      }
    }
  }

  private static void handlers(Soak soak, String what, int value) throws InterruptedException {
    soak.client().tell(what + " " + value);
    soak.pass(Duration.ofMillis(1_000 + soak.upTo(2_000)));
    soak.client().tell(what + " 0");
  }

  void close() {
    proxies.forEach(FaultProxy::close);
  }
}
