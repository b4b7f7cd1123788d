package io.floatvalve.model;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Says that a connection, publisher or consumer could not be opened.
 *
 * <p>The message names the address and the cause, never a secret. Publishing never throws it:
 * publishing ends in an outcome.
 */
public final class MessagingException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** What a caller may do about it. */
  public enum Kind {
    /** Nobody answered at any address in time: try again later, or correct the address. */
    UNREACHABLE,
    /** The broker refused who we are or what we may do: correct credentials or permissions. */
    REFUSED,
    /** What was named does not exist at the broker: create it, or correct the name. */
    NOT_FOUND,
    /** It exists and differs from what was asked for, or somebody else holds it exclusively. */
    CONFLICT,
    /** What was asked for can never work with this broker: correct the settings. */
    INVALID,
    /** What was asked of was closed before. */
    CLOSED
  }

  private final Kind kind;

  /**
   * Makes an exception.
   *
   * @param kind what a caller may do about it
   * @param message names the address and the cause, no secret
   * @param cause what the client library threw, if it did
   */
  public MessagingException(Kind kind, String message, @Nullable Throwable cause) {
    super(message, cause);
    this.kind = Objects.requireNonNull(kind, "kind");
  }

  /** Returns what a caller may do about it. */
  public Kind kind() {
    return kind;
  }
}
