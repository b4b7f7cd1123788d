package io.floatvalve.rabbit;

import com.rabbitmq.client.PossibleAuthenticationFailureException;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.TlsProbe;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The connection that all links of one direction share: made when one of them wants it, made anew
 * when it is gone. Those who want it while it is being made wait for the same attempt.
 */
final class SharedTrunk {
  private static final Duration PROBE_MOST = Duration.ofSeconds(2);

  private final RabbitBroker.Settings settings;
  private final String name;
  private final Object lock = new Object();
  private @Nullable CompletableFuture<Trunk> attempt; // guarded by lock: under way, or the last one
  private @Nullable Wire connecting; // guarded by lock: what the attempt under way waits for
  private boolean closed; // guarded by lock

  /**
   * Makes one without a connection.
   *
   * @param name how the broker lists the connection
   */
  SharedTrunk(RabbitBroker.Settings settings, String name) {
    this.settings = settings;
    this.name = name;
  }

  /**
   * Returns a connection that is open as far as known. Where there is none each endpoint is tried
   * once, in order; for longer than the timeout if need be, for those who ask next.
   */
  Trunk get(Duration timeout) throws MessagingException {
    CompletableFuture<Trunk> wanted;
    synchronized (lock) {
      if (closed) {
        throw closed();
      }
      if (attempt == null || isSpent(attempt)) {
        CompletableFuture<Trunk> fresh = new CompletableFuture<>();
        attempt = fresh;
        Threads.start("floatvalve-rabbit-connect", () -> connect(fresh));
      }
      wanted = attempt;
    }
    try {
      return wanted.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      throw new MessagingException(
          Kind.UNREACHABLE, "no connection to " + where() + " within " + timeout, null);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new MessagingException(
          Kind.UNREACHABLE, "interrupted while connecting to " + where(), e);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof MessagingException failure) {
        throw new MessagingException(
            failure.kind(), String.valueOf(failure.getMessage()), failure.getCause());
      }
      throw new MessagingException(Kind.INVALID, "connecting to " + where() + " failed", e);
    }
  }

  private static boolean isSpent(CompletableFuture<Trunk> attempt) {
    if (!attempt.isDone()) {
      return false;
    }
    return attempt.isCompletedExceptionally() || !attempt.join().isUsable();
  }

  private void connect(CompletableFuture<Trunk> attempt) {
    try {
      Trunk trunk = tryEach();
      boolean late;
      synchronized (lock) { // either close() finds the connection, or this finds close()
        late = closed;
        if (!late) {
          attempt.complete(trunk);
        }
      }
      if (late) {
        trunk.wire().cut();
        throw closed();
      }
    } catch (Throwable e) {
      attempt.completeExceptionally(e);
    }
  }

  private Trunk tryEach() {
    RabbitBroker.Credentials credentials;
    try {
      credentials = settings.credentials();
    } catch (RuntimeException e) {
      throw new MessagingException(
          Kind.REFUSED, "no credentials for " + where() + ": their supplier failed", e);
    }
    Kind kind = Kind.UNREACHABLE;
    List<String> reasons = new ArrayList<>();
    Throwable first = null;
    for (Endpoint endpoint : settings.endpoints()) {
      Wire wire = settings.wire(endpoint);
      try {
        await(wire);
        return Trunk.connect(settings, credentials, endpoint, name, wire);
      } catch (IOException | TimeoutException | RuntimeException e) {
        wire.cut();
        if (first == null) {
          first = e;
        }
        String tls = tlsRefusal(endpoint, e);
        if (kind == Kind.UNREACHABLE) {
          kind = tls == null ? Failures.connecting(e) : Kind.INVALID;
        }
        reasons.add(
            endpoint
                + ": "
                + (tls == null ? Failures.detail(e) : tls)
                + tooLong(e, credentials.password()));
      } finally {
        await(null);
      }
    }
    throw new MessagingException(
        kind, "cannot connect to RabbitMQ at " + String.join("; ", reasons), first);
  }

  /**
   * Returns what TLS has to do with a failure that does not say so: an end without a word is how a
   * port of TLS answers a plain client, and how a broker answers one without a certificate.
   */
  private @Nullable String tlsRefusal(Endpoint endpoint, Exception failure) {
    if (!Failures.isWithoutWords(failure)) {
      return null;
    }
    Duration most = min(settings.connectTimeout(), PROBE_MOST);
    if (endpoint.tls()) {
      return TlsProbe.refusal(
          settings.tls(), endpoint.host(), endpoint.port(), settings.hostNameVerification(), most);
    }
    return TlsProbe.isSpoken(endpoint.host(), endpoint.port(), most)
        ? "TLS is spoken at this port, use amqps:// (" + Failures.detail(failure) + ")"
        : null;
  }

  private static Duration min(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  /** A broker closes the connection without a word on a frame that it has no room for. */
  private static String tooLong(Throwable failure, String password) {
    long bytes = Limits.utf8Bytes(password);
    return failure instanceof PossibleAuthenticationFailureException
            && bytes > RabbitBroker.Credentials.PASSWORD_OF_ANY_BROKER
        ? ", or by the length of the password, " + bytes + " bytes"
        : "";
  }

  /** Notes what {@link #close} must cut to end the attempt. */
  private void await(@Nullable Wire wire) {
    synchronized (lock) {
      if (closed && wire != null) {
        throw closed();
      }
      connecting = wire;
    }
  }

  private static MessagingException closed() {
    return new MessagingException(Kind.CLOSED, "the RabbitMQ broker was closed", null);
  }

  /** Returns the connection if there is one, without making any. */
  @Nullable Trunk current() {
    CompletableFuture<Trunk> last;
    synchronized (lock) {
      last = attempt;
    }
    return last == null || !last.isDone() || last.isCompletedExceptionally() ? null : last.join();
  }

  /** Returns what it is and where, such as {@code RabbitMQ at localhost:5672}. */
  String describe() {
    Trunk trunk = current();
    return trunk == null ? where() : trunk.toString();
  }

  private String where() {
    return "RabbitMQ at " + settings.where();
  }

  /** Closes the connection, and the attempt to make one. */
  void close(Duration timeout) {
    Wire pending;
    synchronized (lock) {
      closed = true;
      pending = connecting;
    }
    if (pending != null) {
      pending.cut();
    }
    Trunk trunk = current();
    if (trunk != null) {
      trunk.close(timeout);
    }
  }
}
