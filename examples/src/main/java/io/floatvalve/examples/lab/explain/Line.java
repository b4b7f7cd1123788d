package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import java.io.IOException;
import java.util.concurrent.locks.LockSupport;

/** A consumer with a handler that takes so many milliseconds, and a load. */
final class Line implements AutoCloseable {
  final Messaging messaging;
  final String place;
  final Consumer consumer;
  final Publisher publisher;
  final Feeder feeder;
  volatile long handlerMillis = 1;
  volatile boolean failing;

  Line(Ground ground, String what, int workers, int perSecond) throws IOException {
    this(ground, perSecond, ground.from(ground.place(what)).withWorkers(workers));
  }

  Line(Ground ground, int perSecond, ConsumerSettings settings) {
    messaging = ground.messaging();
    place = settings.addresses().get(0).name();
    consumer = messaging.consumer(settings);
    publisher = messaging.publisher(ground.to(place));
    feeder = new Feeder(publisher, perSecond);
  }

  Line handled() {
    consumer.handle(
        delivery -> {
          LockSupport.parkNanos(handlerMillis * 1_000_000);
          return failing ? Settlement.retry() : Settlement.accept();
        });
    return this;
  }

  @Override
  public void close() {
    feeder.close();
    failing = false;
    handlerMillis = 0;
    messaging.close();
  }
}
