package io.floatvalve.rate;

import io.floatvalve.rate.QuotaPolicy.Kind;
import io.floatvalve.rate.QuotaPolicy.Scope;
import java.time.Duration;
import java.util.List;
import java.util.OptionalDouble;

/**
 * What has passed the quotas of a policy so far, and what had to wait.
 *
 * @param waits how many messages had to wait for a quota
 * @param refused publishes that were not sent because of a quota: all that ended as {@code
 *     NotSent(RATE_LIMITED)}, whether at once, after {@code maxWait} or {@code maxBlock}, or
 *     because the queue was full of what a quota held; and those larger than all that may pass in a
 *     second
 * @param delaysStripped messages that were sent without their delay, which was over
 * @param waiting publishers and consumers whose next message waits now
 * @param oldestWait how long the longest of them has waited for its next message; zero for none
 * @param scopes each place where a quota holds and something passed or tried to; of many places,
 *     those that have been idle for seconds are forgotten
 */
public record QuotaStatus(
    long waits,
    long refused,
    long delaysStripped,
    int waiting,
    Duration oldestWait,
    List<ScopeStatus> scopes) {

  /** Copies what was given. */
  public QuotaStatus {
    scopes = List.copyOf(scopes);
  }

  /**
   * One place where a quota holds.
   *
   * @param kind what the quota is for
   * @param scope the kind of place
   * @param name which place: the address, or address and partition; empty for the cluster
   * @param quota as it was set
   * @param factor which part of the limits holds now: 1, or less while they are lowered
   * @param messageLimit the most that may pass in a second now, by cost; empty for any number
   * @param byteLimit the most bytes that may pass in a second now; empty for any number
   * @param messages how many have passed so far
   * @param cost what those counted as
   * @param bytes of their payloads
   * @param lastSecondCost what of that passed in the last second; 0 without a limit
   * @param lastSecondBytes what of that passed in the last second; 0 without a limit
   * @param waits how many messages had to wait here
   */
  public record ScopeStatus(
      Kind kind,
      Scope scope,
      String name,
      Quota quota,
      double factor,
      OptionalDouble messageLimit,
      OptionalDouble byteLimit,
      long messages,
      long cost,
      long bytes,
      long lastSecondCost,
      long lastSecondBytes,
      long waits) {}
}
