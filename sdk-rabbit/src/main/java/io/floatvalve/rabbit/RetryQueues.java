package io.floatvalve.rabbit;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The queues in which messages wait to be handled again, one for each delay: a queue with messages
 * of different delays would hold up the short ones behind the long ones. Pure.
 *
 * @param source where messages come from, and go again
 * @param steps delays, ascending, without zero
 * @param arguments of each, beside those that make it what it is
 */
record RetryQueues(String source, List<Duration> steps, Map<String, Object> arguments) {
  /** Makes those for these delays, which may hold zero: such a message goes back at once. */
  static RetryQueues of(String source, List<Duration> delays, Map<String, Object> arguments) {
    List<Duration> steps = new ArrayList<>();
    for (Duration each : delays) {
      Duration step = Duration.ofMillis(millis(each));
      if (!step.isZero() && !steps.contains(step)) {
        steps.add(step);
      }
    }
    return new RetryQueues(source, List.copyOf(steps), Map.copyOf(arguments));
  }

  /** Returns the longest delay that one of them keeps; zero if there is none. */
  Duration longest() {
    return steps.isEmpty() ? Duration.ZERO : steps.get(steps.size() - 1);
  }

  /**
   * Returns the queue for a delay, of the next longer step.
   *
   * @param delay at most {@link #longest}
   */
  String queue(Duration delay) {
    if (delay.isZero()) {
      return source;
    }
    for (Duration step : steps) {
      if (step.compareTo(delay) >= 0) {
        return name(step);
      }
    }
    throw new IllegalArgumentException(
        delay + " is longer than the longest step of " + this); // it would come too soon
  }

  String name(Duration step) {
    return source + ".retry." + step.toMillis() + "ms";
  }

  Map<String, Object> arguments(Duration step) {
    Map<String, Object> all = new HashMap<>();
    all.put("x-queue-type", "classic");
    all.putAll(arguments);
    all.put("x-message-ttl", step.toMillis());
    all.put("x-dead-letter-exchange", "");
    all.put("x-dead-letter-routing-key", source);
    return all;
  }

  private static long millis(Duration delay) {
    return delay.plusNanos(999_999).toMillis();
  }
}
