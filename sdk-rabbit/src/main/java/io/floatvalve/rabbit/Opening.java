package io.floatvalve.rabbit;

import com.rabbitmq.client.Channel;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The opening of one link. The client's calls wait for the broker by timeouts of its own and mind
 * no interrupt, so they are made on a thread that may be left behind. What it opens too late is
 * closed again.
 */
abstract class Opening<L> {
  private final SharedTrunk trunks;
  private final Trunk.Link hears;
  private final String purpose;
  private final Duration timeout;
  private final CompletableFuture<L> result = new CompletableFuture<>();
  private volatile @Nullable Trunk trunk;

  /**
   * Begins nothing yet.
   *
   * @param hears what is told about the connection once there is one
   * @param purpose what cannot be done if this fails, such as {@code publish to queue 'q'}
   */
  Opening(SharedTrunk trunks, Trunk.Link hears, String purpose, Duration timeout) {
    this.trunks = trunks;
    this.hears = hears;
    this.purpose = purpose;
    this.timeout = timeout;
  }

  /** Opens it; waits for the broker. */
  abstract L open(Trunk used) throws IOException;

  /** Lets nothing more be heard of it: it was not opened in time. */
  abstract void end();

  /** Ends what was opened too late. */
  abstract void discard(L late);

  /** Waits for it, for at most the timeout. */
  final L await() {
    Threads.start("floatvalve-rabbit-open", this::run);
    MessagingException failure;
    try {
      return result.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      failure = failure(e.getCause());
    } catch (TimeoutException e) {
      failure = failed(Kind.UNREACHABLE, "no answer within " + timeout, null);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      failure = failed(Kind.UNREACHABLE, "interrupted while waiting", e);
    }
    end();
    if (!result.completeExceptionally(failure) && !result.isCompletedExceptionally()) {
      discard(result.join());
    }
    Trunk used = trunk;
    if (used != null) {
      if (failure.kind() == Kind.UNREACHABLE) {
        used.leaveUnanswered(hears);
      } else {
        used.leave(hears);
      }
    }
    throw failure;
  }

  private void run() {
    try {
      Trunk used = trunks.get(timeout);
      trunk = used;
      used.join(hears);
      L link = open(used);
      if (!result.complete(link)) {
        discard(link);
      }
    } catch (Throwable e) {
      Trunk used = trunk;
      if (!result.completeExceptionally(e) && used != null) {
        used.leave(hears);
      }
    }
  }

  final Channel channel(Trunk used) throws IOException {
    Channel channel = used.connection().createChannel();
    if (channel == null) {
      throw failed(
          Kind.INVALID,
          "the connection has its " + used.connection().getChannelMax() + " channels already",
          null);
    }
    return channel;
  }

  private MessagingException failure(@Nullable Throwable cause) {
    if (cause instanceof MessagingException known) {
      return known;
    }
    if (cause == null) {
      return failed(Kind.UNREACHABLE, "unknown cause", null);
    }
    return failed(Failures.opening(cause), Failures.detail(cause), cause);
  }

  final MessagingException failed(Kind kind, String why, @Nullable Throwable cause) {
    Trunk used = trunk;
    String blocked = used == null ? null : used.blocked();
    return new MessagingException(
        kind,
        "cannot "
            + purpose
            + " of "
            + (used == null ? trunks.describe() : used.toString())
            + ": "
            + why
            + (blocked == null ? "" : "; the broker blocks the connection: " + blocked),
        cause);
  }
}
