package io.floatvalve.examples.lab.permits.rabbit;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.model.Settlement;

/** Our consumer. */
final class SdkMember implements Member {
  private final Consumer consumer;

  SdkMember(Messaging messaging, ConsumerSettings settings, Work work) {
    consumer = messaging.consumer(settings);
    consumer.handle(
        delivery -> {
          work.on(Bench.number(delivery.message().payload()));
          return Settlement.accept();
        });
  }

  ConsumerStatus status() {
    return consumer.status();
  }

  @Override
  public int held() {
    ConsumerStatus status = consumer.status();
    return status.waiting() + status.inHandlers();
  }

  @Override
  public long waitingBytes() {
    return consumer.status().waitingBytes();
  }

  @Override
  public void close() {
    consumer.close();
  }
}
