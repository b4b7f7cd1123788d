package io.floatvalve.publish;

/** Carries an outcome other than a confirm; see {@link PublishOutcome#orElseThrow()}. */
public final class PublishException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient PublishOutcome outcome;

  PublishException(PublishOutcome outcome) {
    super("not confirmed: " + outcome);
    this.outcome = outcome;
  }

  /** Returns the outcome; null after deserialization, which the message survives. */
  public PublishOutcome outcome() {
    return outcome;
  }
}
