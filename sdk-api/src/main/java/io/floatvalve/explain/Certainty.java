package io.floatvalve.explain;

/** How sure a finding is. */
public enum Certainty {
  /** It is counted here, or the broker says so itself. */
  CERTAIN,
  /** Nothing else that is known here looks like it. */
  LIKELY,
  /** Something else may look the same; the finding says what. */
  POSSIBLE
}
