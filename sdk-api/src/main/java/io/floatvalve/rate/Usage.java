package io.floatvalve.rate;

import java.time.Duration;

/**
 * What a publisher or consumer used of what it may, and whether the broker seems to hold it back.
 *
 * @param messages that went through, by what they cost
 * @param bytes of their payloads
 * @param throttling what speaks for the broker's holding us back now
 * @param held how long our own quota has held the next message so far, all times together
 * @param refused publishes that were not sent because of a quota; as {@link QuotaStatus#refused}
 * @param delaysStripped messages that were sent without their delay, which was over
 */
public record Usage(
    PeakSecond.Reading messages,
    PeakSecond.Reading bytes,
    ThrottleDetector.Evidence throttling,
    Duration held,
    long refused,
    long delaysStripped) {}
