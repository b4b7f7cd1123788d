package io.floatvalve.pulsar;

import io.floatvalve.model.MessagingException.Kind;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;

/** What the client's exceptions mean to a caller. */
final class Failures {
  private static final int MOST_WORDS = 500;

  /** What a failure to send says of the message and of the producer. */
  enum Sending {
    /** The client refused it. */
    TOO_LARGE,
    /** The client refused it. */
    INVALID,
    /** The client refused it, for now. */
    NO_ROOM,
    /** The broker refused it. */
    REFUSED,
    /** The broker refused it, and takes no more. */
    REFUSED_FOR_GOOD,
    /** The producer is gone. */
    GONE,
    /** Nothing. */
    UNCLEAR
  }

  private Failures() {}

  /** Returns what a failure to send means. */
  static Sending sending(Throwable cause) {
    if (cause instanceof PulsarClientException.InvalidMessageException) {
      return Sending.TOO_LARGE; // the client's own check of sizes; brokers have no such answer
    }
    if (cause instanceof PulsarClientException.CryptoException) {
      return Sending.INVALID;
    }
    if (cause instanceof PulsarClientException.ProducerQueueIsFullError
        || cause instanceof PulsarClientException.MemoryBufferIsFullError) {
      return Sending.NO_ROOM;
    }
    if (cause instanceof PulsarClientException.TopicTerminatedException
        || cause instanceof PulsarClientException.ProducerFencedException) {
      return Sending.REFUSED_FOR_GOOD;
    }
    if (cause instanceof PulsarClientException.ProducerBlockedQuotaExceededException
        || cause instanceof PulsarClientException.ProducerBlockedQuotaExceededError
        || cause instanceof PulsarClientException.NotAllowedException
        || cause instanceof PulsarClientException.AuthorizationException
        || cause instanceof PulsarClientException.IncompatibleSchemaException
        || cause instanceof PulsarClientException.ChecksumException) {
      return Sending.REFUSED;
    }
    if (cause instanceof PulsarClientException.AlreadyClosedException
        || cause instanceof PulsarClientException.NotConnectedException) {
      return Sending.GONE;
    }
    return Sending.UNCLEAR;
  }

  /** Returns what is behind the wrappers of futures. */
  static Throwable cause(@Nullable Throwable failure) {
    if (failure == null) {
      return new IllegalStateException("neither an answer nor a failure");
    }
    Throwable cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  /** Returns what a caller may do about an opening that failed. */
  static Kind opening(Throwable cause) {
    if (cause instanceof PulsarClientException.TopicDoesNotExistException
        || cause instanceof PulsarClientException.NotFoundException
        || cause instanceof PulsarClientException.SubscriptionNotFoundException) {
      return Kind.NOT_FOUND;
    }
    if (cause instanceof PulsarClientException.AuthenticationException
        || cause instanceof PulsarClientException.AuthorizationException
        || cause instanceof PulsarClientException.UnsupportedAuthenticationException
        || cause instanceof PulsarClientException.GettingAuthenticationDataException) {
      return Kind.REFUSED;
    }
    if (cause instanceof PulsarClientException.IncompatibleSchemaException
        || cause instanceof PulsarClientException.ConsumerBusyException
        || cause instanceof PulsarClientException.ProducerBusyException
        || cause instanceof PulsarClientException.ConsumerAssignException
        || cause instanceof PulsarClientException.ProducerFencedException
        || cause instanceof PulsarClientException.TopicTerminatedException) {
      return Kind.CONFLICT;
    }
    if (cause instanceof PulsarClientException.InvalidConfigurationException
        || cause instanceof PulsarClientException.InvalidServiceURL
        || cause instanceof PulsarClientException.InvalidTopicNameException
        || cause instanceof PulsarClientException.NotSupportedException
        || cause instanceof PulsarClientException.FeatureNotSupportedException
        || cause instanceof PulsarClientException.NotAllowedException
        || cause instanceof IllegalArgumentException) {
      return Kind.INVALID;
    }
    if (cause instanceof PulsarClientException.AlreadyClosedException) {
      return Kind.CLOSED;
    }
    return cause.getCause() instanceof PulsarClientException inner && inner != cause
        ? opening(inner)
        : Kind.UNREACHABLE;
  }

  /** Returns whether trying again may help. */
  static boolean retryable(Throwable cause) {
    Kind kind = opening(cause);
    return kind != Kind.REFUSED && kind != Kind.INVALID;
  }

  /** Returns the cause in words. */
  static String words(@Nullable Throwable cause) {
    if (cause == null) {
      return "unknown cause";
    }
    String said = cause.getMessage();
    String words =
        said == null || said.isBlank()
            ? cause.getClass().getSimpleName()
            : cause.getClass().getSimpleName() + ": " + said.replaceAll("\\s+", " ").trim();
    return words.length() <= MOST_WORDS ? words : words.substring(0, MOST_WORDS) + "…";
  }
}
