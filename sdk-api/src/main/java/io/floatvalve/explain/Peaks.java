package io.floatvalve.explain;

/**
 * The busiest second of late, beside a quota.
 *
 * @param of what is counted against which quota, such as {@code publish, messages}
 * @param peakPerSecond in the busiest sliding second
 * @param averagePerSecond over the last minute
 * @param quotaPerSecond what is allowed; above zero
 */
public record Peaks(
    String of, double peakPerSecond, double averagePerSecond, double quotaPerSecond) {}
