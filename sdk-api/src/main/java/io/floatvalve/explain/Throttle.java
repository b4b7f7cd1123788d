package io.floatvalve.explain;

/**
 * What a detector concludes from the rhythm of a broker's answers or deliveries.
 *
 * @param level how sure it is
 * @param evidence what it rests on, in words with numbers; empty if there is none
 */
public record Throttle(Level level, String evidence) {
  /** Nothing points at a rate limit, or nobody looked. */
  public static final Throttle NONE = new Throttle(Level.NONE, "");

  /** How much points at a rate limit. */
  public enum Level {
    /** Nothing. */
    NONE,
    /** Something; a broker at its own limit looks the same. Of publishers alone. */
    SUSPECTED,
    /** Nothing else that is known looks like it. */
    LIKELY,
    /** The broker said so. */
    CONFIRMED
  }

  /** Returns whether it is more than a suspicion. */
  boolean isLikely() {
    return level == Level.LIKELY || level == Level.CONFIRMED;
  }

  /**
   * Returns how sure a finding is that rests on this.
   *
   * @param confirmed whether the broker said so, here or by its counters
   */
  Certainty certainty(boolean confirmed) {
    if (confirmed) {
      return Certainty.CERTAIN;
    }
    return level == Level.LIKELY ? Certainty.LIKELY : Certainty.POSSIBLE;
  }
}
