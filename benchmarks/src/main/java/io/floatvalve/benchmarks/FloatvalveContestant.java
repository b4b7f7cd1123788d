package io.floatvalve.benchmarks;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.model.Settlement;
import java.time.Duration;

/** Floatvalve, with the settings that a user gets who sets nothing. */
final class FloatvalveContestant implements Contestant {
  private final Consumer consumer;
  private final Work work;

  /**
   * Opens it.
   *
   * @param source what to consume, with what only its broker has
   */
  FloatvalveContestant(Messaging messaging, ConsumerSettings source, Plan plan) {
    work = plan.work();
    consumer =
        messaging.consumer(
            source
                .withOrdering(plan.ordering())
                .withWorkers(plan.workers())
                .withOpenTimeout(Duration.ofMinutes(1))
                .withCloseTimeout(Duration.ofSeconds(5)));
  }

  @Override
  public void start() {
    consumer.handle(
        delivery -> {
          work.handle();
          return Settlement.accept();
        });
  }

  @Override
  public int waiting() {
    return consumer.status().waiting();
  }

  @Override
  public int held() {
    ConsumerStatus status = consumer.status();
    return status.waiting() + status.inHandlers() + status.settling();
  }

  @Override
  public long waitingBytes() {
    return consumer.status().waitingBytes();
  }

  @Override
  public int permits() {
    return consumer.status().permits();
  }

  @Override
  public boolean wasDisconnected() {
    return !consumer.status().lastLoss().isEmpty();
  }

  @Override
  public void close() {
    consumer.close();
  }
}
