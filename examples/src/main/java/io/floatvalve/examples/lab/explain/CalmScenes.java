package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.model.Ordering;
import io.floatvalve.model.Settlement;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** What looks as if something were wrong, and is not. */
final class CalmScenes {
  private CalmScenes() {}

  static void fast(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "fast", 16, 2_000).handled()) {
      line.handlerMillis = 0;
      watch.calmly(line.messaging::explain);
    }
  }

  static void slowButSteady(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "steady", 16, 20).handled()) {
      line.handlerMillis = 400;
      watch.calmly(line.messaging::explain);
    }
  }

  static void idle(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "idle", 16, 0).handled()) {
      watch.calmly(line.messaging::explain);
    }
  }

  static void bursts(Ground ground, Watch watch) throws IOException {
    try (Line line = new Line(ground, "bursts", 8, 0).handled()) {
      line.handlerMillis = 5;
      for (int i = 0; i < 4; i++) {
        line.feeder.rate(3_000);
        watch.calmly(Duration.ofMillis(300), line.messaging::explain);
        line.feeder.rate(0);
        watch.calmly(Duration.ofSeconds(2), line.messaging::explain);
      }
    }
  }

  /** One of two consumers is handed all, as they asked for; the other stands by. */
  static void standby(Ground ground, Watch watch) throws IOException {
    String place = ground.ordered("standby");
    try (Messaging first = ground.messaging();
        Messaging second = ground.messaging()) {
      Consumer active = first.consumer(ground.from(place).withOrdering(Ordering.TOTAL));
      active.handle(
          delivery -> {
            LockSupport.parkNanos(1_000_000);
            return Settlement.accept();
          });
      Consumer waiting = second.consumer(ground.from(place).withOrdering(Ordering.TOTAL));
      waiting.handle(delivery -> Settlement.accept());
      try (Feeder feeder = new Feeder(first.publisher(ground.to(place)), 500)) {
        watch.calmly(waiting::explain);
        feeder.rate(0);
      }
    }
  }
}
