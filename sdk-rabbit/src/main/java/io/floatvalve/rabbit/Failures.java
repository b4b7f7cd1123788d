package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.AuthenticationFailureException;
import com.rabbitmq.client.MalformedFrameException;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.PossibleAuthenticationFailureException;
import com.rabbitmq.client.ProtocolVersionMismatchException;
import com.rabbitmq.client.ShutdownSignalException;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.TlsFailure;
import java.io.EOFException;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Translates what the client throws and what the broker says when it closes. Pure. */
final class Failures {
  private Failures() {}

  /** A broker's reason to close something: its code and its own words. */
  record Closing(int code, String text) {
    @Override
    public String toString() {
      return code + " " + printable(text);
    }
  }

  /** Returns a peer's words without what would change a log or a terminal. */
  static String printable(String said) {
    return said.replaceAll("\\p{Cntrl}", " ");
  }

  /** Returns the broker's reason that a failure carries, or null if it carries none. */
  static @Nullable Closing closing(@Nullable Throwable failure) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof ShutdownSignalException signal) {
        Closing closing = closing(signal.getReason());
        if (closing != null && !signal.isInitiatedByApplication()) {
          return closing;
        }
      }
    }
    return null;
  }

  private static @Nullable Closing closing(@Nullable Method reason) {
    if (reason instanceof AMQP.Connection.Close close) {
      return new Closing(close.getReplyCode(), close.getReplyText());
    }
    if (reason instanceof AMQP.Channel.Close close) {
      return new Closing(close.getReplyCode(), close.getReplyText());
    }
    return null;
  }

  /** Says why a channel or connection is gone. */
  static String detail(ShutdownSignalException signal) {
    Closing closing = closing(signal);
    if (closing != null) {
      return closing.toString();
    }
    return signal.isInitiatedByApplication()
        ? "closed by this application"
        : detail((Throwable) signal);
  }

  /** Says what went wrong, in words. */
  static String detail(Throwable failure) {
    Closing closing = closing(failure);
    if (closing != null) {
      return closing.toString();
    }
    String tls = TlsFailure.words(failure);
    if (tls != null) {
      return tls;
    }
    Throwable root = failure;
    while (root.getCause() != null
        && (root instanceof ShutdownSignalException || root.getMessage() == null)) {
      root = root.getCause();
    }
    if (root instanceof UnknownHostException) {
      return "unknown host " + root.getMessage();
    }
    if (root instanceof EOFException) {
      return "the peer closed the connection";
    }
    if (root instanceof TimeoutException) {
      return "no answer in time";
    }
    String message = root.getMessage();
    return message == null || message.isBlank() ? root.getClass().getSimpleName() : message;
  }

  /** Whether the peer ended the connection, or said what no broker says, and gave no reason. */
  static boolean isWithoutWords(Throwable failure) {
    if (closing(failure) != null || TlsFailure.words(failure) != null) {
      return false;
    }
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof ConnectException) {
        return false;
      }
      if (t instanceof EOFException
          || t instanceof SocketException
          || t instanceof MalformedFrameException
          || t instanceof ProtocolVersionMismatchException) {
        return true;
      }
    }
    return false;
  }

  /** Returns what a caller may do about a connection that could not be opened. */
  static Kind connecting(Throwable failure) {
    for (Throwable t = failure; t != null; t = t.getCause()) {
      if (t instanceof AuthenticationFailureException) {
        return Kind.REFUSED;
      }
      if (t instanceof SSLException
          || t instanceof MalformedFrameException
          || t instanceof ProtocolVersionMismatchException) {
        return Kind.INVALID;
      }
    }
    Closing closing = closing(failure);
    if (closing != null && closing.code() == AMQP.NOT_ALLOWED) {
      return closing.text().contains("not found") ? Kind.NOT_FOUND : Kind.REFUSED;
    }
    if (closing != null && closing.code() == AMQP.ACCESS_REFUSED) {
      return Kind.REFUSED;
    }
    return closing == null && failure instanceof PossibleAuthenticationFailureException
        ? Kind.REFUSED
        : Kind.UNREACHABLE;
  }

  /** Returns what a caller may do about a channel that could not be opened. */
  static Kind opening(Throwable failure) {
    if (failure instanceof MessagingException known) {
      return known.kind();
    }
    Closing closing = closing(failure);
    if (closing == null) {
      return Kind.UNREACHABLE;
    }
    return switch (closing.code()) {
      case AMQP.NOT_FOUND -> Kind.NOT_FOUND;
      case AMQP.ACCESS_REFUSED -> Kind.REFUSED;
      case AMQP.RESOURCE_LOCKED, AMQP.PRECONDITION_FAILED -> Kind.CONFLICT;
      case AMQP.NOT_ALLOWED, AMQP.NOT_IMPLEMENTED -> Kind.INVALID;
      default -> Kind.UNREACHABLE;
    };
  }
}
