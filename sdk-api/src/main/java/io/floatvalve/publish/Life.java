package io.floatvalve.publish;

/** What a publisher may do, and what leads from one to the next. No event leads back. */
enum Life {
  /** There is no link; messages are taken and wait. */
  RECOVERING(true, false),
  /** Messages are taken and sent. */
  OPEN(true, true),
  /** The broker reads nothing; messages are taken and wait. */
  BLOCKED(true, false),
  /** No more messages are taken; there is no link for those that wait. */
  CLOSING_RECOVERING(false, false),
  /** No more messages are taken; those that wait are sent. */
  CLOSING(false, true),
  /** No more messages are taken; the broker reads nothing. */
  CLOSING_BLOCKED(false, false),
  /** Everything is settled. */
  CLOSED(false, false);

  /** What can happen to a publisher. */
  enum Event {
    LINKED,
    BLOCKED,
    UNBLOCKED,
    LOST,
    CLOSE,
    CLOSED
  }

  private final boolean takes;
  private final boolean sends;

  Life(boolean takes, boolean sends) {
    this.takes = takes;
    this.sends = sends;
  }

  /** Returns whether messages are taken. */
  boolean takes() {
    return takes;
  }

  /** Returns whether messages are sent. */
  boolean sends() {
    return sends;
  }

  boolean closing() {
    return !takes;
  }

  Life on(Event event) {
    if (this == CLOSED) {
      return CLOSED;
    }
    return switch (event) {
      case LINKED -> closing() ? CLOSING : OPEN;
      case BLOCKED -> linked() ? (closing() ? CLOSING_BLOCKED : BLOCKED) : this;
      case UNBLOCKED -> linked() ? (closing() ? CLOSING : OPEN) : this;
      case LOST -> closing() ? CLOSING_RECOVERING : RECOVERING;
      case CLOSE ->
          switch (this) {
            case RECOVERING -> CLOSING_RECOVERING;
            case OPEN -> CLOSING;
            case BLOCKED -> CLOSING_BLOCKED;
            default -> this;
          };
      case CLOSED -> CLOSED;
    };
  }

  private boolean linked() {
    return this != RECOVERING && this != CLOSING_RECOVERING;
  }
}
