package io.floatvalve.examples.cli;

import io.floatvalve.rate.Quota;
import io.floatvalve.rate.QuotaPolicy;
import io.floatvalve.rate.QuotaPolicy.Scope;
import org.jspecify.annotations.Nullable;

/** Quotas as the options of a command give them. */
public final class Quotas {
  private static final double MOST_MESSAGES = 1e7;
  private static final long MOST_BYTES = 1L << 40;

  private Quotas() {}

  /** Which of a policy's quotas are set. */
  public enum Direction {
    /** What is published. */
    PUBLISH,
    /** What is consumed. */
    CONSUME
  }

  /**
   * Returns the policy that lets no more pass in any second, of all that go by it; null where
   * nothing is given.
   *
   * @param rateOption what the option is called
   * @param rate messages a second, above 0 and at most 10,000,000; null for any number
   * @param bytesRate bytes of payload a second, from 1 to 1 TiB; null for any number
   * @throws CannotRun if out of range
   */
  public static @Nullable QuotaPolicy policy(
      Direction direction, String rateOption, @Nullable Double rate, @Nullable Long bytesRate) {
    if (rate == null && bytesRate == null) {
      return null;
    }
    QuotaPolicy policy = QuotaPolicy.none().withHeadroom(1);
    if (rate != null) {
      if (!(rate > 0 && rate <= MOST_MESSAGES)) {
        throw CannotRun.badInput(rateOption, rate, "must be above 0 and at most 10000000");
      }
      // a share carries what a quota of whole messages cannot: half a message a second
      long whole = (long) Math.ceil(rate);
      policy = with(policy, direction, Scope.CLUSTER, Quota.messagesPerSecond(whole));
      policy = policy.withShare(rate / whole);
    }
    if (bytesRate != null) {
      if (bytesRate < 1 || bytesRate > MOST_BYTES) {
        throw CannotRun.badInput("--bytes-rate", bytesRate, "must be from 1 to " + MOST_BYTES);
      }
      long whole = (long) Math.min(MOST_BYTES, Math.ceil(bytesRate / policy.share()));
      policy = with(policy, direction, Scope.TOPIC, Quota.bytesPerSecond(whole));
    }
    return policy;
  }

  private static QuotaPolicy with(
      QuotaPolicy policy, Direction direction, Scope scope, Quota quota) {
    return switch (direction) {
      case PUBLISH -> policy.withPublish(scope, quota);
      case CONSUME -> policy.withConsume(scope, quota);
    };
  }
}
