package io.floatvalve.examples.perf;

import io.floatvalve.publish.WindowPolicy;
import io.floatvalve.rate.QuotaPolicy;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * One load: how much, how large, how long.
 *
 * @param name what tells it from others of the same run
 * @param rate messages a second of all producers, or null for as many as there is room for
 * @param quota what all producers together stay under, or null for none
 * @param queueType of RabbitMQ; else ignored
 * @param batching of Pulsar; else ignored
 * @param warmUp before what is measured, at the same load
 */
public record Load(
    String name,
    @Nullable Double rate,
    WindowPolicy window,
    @Nullable QuotaPolicy quota,
    int size,
    int producers,
    int consumers,
    String queueType,
    boolean batching,
    Duration warmUp,
    Duration time,
    Duration interval) {

  /** Returns the window in words. */
  public String windowName() {
    return window.isAdaptive() ? "adaptive" : String.valueOf(window.most());
  }
}
