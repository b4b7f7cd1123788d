package io.floatvalve.pulsar;

import io.floatvalve.model.MessagingException.Kind;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;

/** What the client's exceptions mean to a caller. */
final class Failures {
  private static final int MOST_WORDS = 500;

  private Failures() {}

  /** Returns what is behind the wrappers of futures. */
  static Throwable cause(Throwable failure) {
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
        || cause instanceof PulsarClientException.ConsumerAssignException) {
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
