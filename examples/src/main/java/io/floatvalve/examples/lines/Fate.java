package io.floatvalve.examples.lines;

import io.floatvalve.publish.PublishOutcome;

/** What is known of a line, over all runs that tried it. */
public enum Fate {
  /** Never given to a publisher. */
  UNTRIED(0),
  /** Confirmed by the broker. */
  CONFIRMED(1),
  /** Reached no queue. */
  RETURNED(2),
  /** Refused by a queue. */
  NACKED(3),
  /** May be at the broker or not. */
  UNKNOWN(4),
  /** Never left the process that tried it. */
  NOT_SENT(5),
  /** Cannot be sent as it is. */
  UNFIT(6);

  private static final Fate[] BY_CODE = new Fate[16];

  static {
    for (Fate fate : values()) {
      BY_CODE[fate.code] = fate;
    }
  }

  private final int code;

  Fate(int code) {
    this.code = code;
  }

  /** Returns a number from 0 to 15 for it; 0 is untried. */
  int code() {
    return code;
  }

  /** Returns the fate with this number. */
  static Fate at(int code) {
    return BY_CODE[code];
  }

  /** Returns the fate that an outcome means. */
  public static Fate of(PublishOutcome outcome) {
    return switch (outcome.verdict()) {
      case CONFIRMED -> CONFIRMED;
      case RETURNED -> RETURNED;
      case NACKED -> NACKED;
      case UNKNOWN -> UNKNOWN;
      case NOT_SENT -> outcome.retry() == PublishOutcome.Retry.FUTILE ? UNFIT : NOT_SENT;
    };
  }

  /**
   * Returns what is known after one more try: a confirm stands; a try that may have arrived is not
   * undone by one that did not.
   */
  public Fate then(Fate next) {
    if (this == CONFIRMED || next == CONFIRMED) {
      return CONFIRMED;
    }
    if (this == UNKNOWN || next == UNKNOWN) {
      return UNKNOWN;
    }
    if (this == NACKED || next == NACKED) {
      return NACKED;
    }
    return next == UNTRIED ? this : next;
  }

  /** Returns whether publishing it again may store it twice. */
  public boolean mayDuplicate() {
    return this == UNKNOWN || this == NACKED;
  }
}
