package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.time.Duration;

/** What goes wrong with a publisher. */
final class PublisherScenes {
  private static final Duration WARM = Duration.ofSeconds(2);
  private static final Duration NO_WAIT = Duration.ZERO;

  private PublisherScenes() {}

  static void smallWindow(Ground ground, Watch watch) throws IOException {
    String place = ground.place("window");
    try (FaultProxy proxy = ground.proxy()) {
      proxy.delay(FaultProxy.Direction.TO_BROKER, Duration.ofMillis(20));
      proxy.delay(FaultProxy.Direction.FROM_BROKER, Duration.ofMillis(20));
      try (Messaging messaging = ground.messaging(proxy)) {
        Publisher publisher =
            messaging.publisher(
                ground
                    .to(place)
                    .withWindow(WindowPolicy.fixed(2))
                    .withMaxWait(Duration.ofMinutes(1))
                    .withCloseTimeout(NO_WAIT));
        try (Feeder feeder = new Feeder(publisher, 10)) {
          watch.calmly(WARM, publisher::explain);
          feeder.rate(1_000);
          watch.fromOnset(publisher::explain);
        }
      }
    }
  }

  static void silent(Ground ground, Watch watch) throws IOException {
    String place = ground.place("silent");
    try (FaultProxy proxy = ground.proxy();
        Messaging messaging = ground.messaging(proxy)) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(100);
        watch.calmly(WARM, publisher::explain);
        proxy.stall(FaultProxy.Direction.FROM_BROKER);
        watch.fromOnset(publisher::explain);
        proxy.unstall();
      }
    }
  }

  static void blocked(Ground ground, Watch watch) throws IOException {
    RabbitNode node = node(ground);
    String place = ground.place("alarm");
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(100);
        watch.calmly(WARM, publisher::explain);
        node.memoryAlarm(true);
        watch.fromOnset(publisher::explain);
      } finally {
        node.memoryAlarm(false);
      }
    }
  }

  static void oneHangs(Ground ground, Watch watch) throws IOException {
    RabbitNode node = node(ground);
    String place = ground.place("lively");
    String hanging = ground.place("hanging");
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(200);
        watch.calmly(WARM, publisher::explain);
        node.ctl("eval", toQueue("sys:suspend", hanging));
        var unused =
            publisher.publish(
                Message.builder(new byte[10]).address(Address.queue(hanging)).build());
        watch.fromOnset(publisher::explain);
      } finally {
        node.ctl("eval", toQueue("sys:resume", hanging));
      }
    }
  }

  private static RabbitNode node(Ground ground) throws IOException {
    if (ground instanceof RabbitGround rabbit && rabbit.node().isPresent()) {
      return rabbit.node().get();
    }
    throw new IOException("this scene needs a private node");
  }

  private static String toQueue(String call, String queue) {
    return "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\""
        + queue
        + "\">>)), "
        + call
        + "(amqqueue:get_pid(Q)).";
  }

  static void quotaNear(Ground ground, Watch watch) throws IOException {
    String place = ground.place("quota");
    QuotaPolicy quota =
        QuotaPolicy.none().withPublish(QuotaPolicy.Scope.TOPIC, Quota.messagesPerSecond(500));
    try (Messaging messaging = ground.messaging()) {
      Publisher publisher =
          messaging.publisher(ground.to(place).withQuota(quota).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.rate(200);
        watch.calmly(WARM, publisher::explain);
        feeder.rate(440);
        watch.fromOnset(publisher::explain);
      }
    }
  }

  /** A gateway before the broker lets through so much a second, and nothing until the next one. */
  static void limitedOnTheWay(Ground ground, Watch watch) throws IOException {
    String place = ground.place("gateway");
    SecondGate gate = new SecondGate(FaultProxy.Direction.TO_BROKER);
    try (FaultProxy proxy = ground.proxy().tap(gate);
        Messaging messaging = ground.messaging(proxy)) {
      proxy.rate(FaultProxy.Direction.TO_BROKER, 1 << 20);
      Publisher publisher = messaging.publisher(ground.to(place).withCloseTimeout(NO_WAIT));
      try (Feeder feeder = new Feeder(publisher, 0)) {
        feeder.size(1_000).rate(300);
        watch.calmly(WARM, publisher::explain);
        gate.limit(400_000);
        feeder.rate(1_000);
        watch.fromOnset(publisher::explain);
      } finally {
        gate.open();
      }
    }
  }
}
