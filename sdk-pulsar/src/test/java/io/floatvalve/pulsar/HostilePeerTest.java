package io.floatvalve.pulsar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.model.Ordering;
import io.floatvalve.spi.Broker.ReceiveRequest;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A peer that is no broker: it costs an attempt, in time and within bounds. */
@Timeout(60)
final class HostilePeerTest {
  private static final Duration OPENING = Duration.ofSeconds(2);
  private static final Duration GRACE = Duration.ofSeconds(20);
  private static final long MOST_BYTES = 64L << 20;

  private interface Talk {
    void with(Socket guest) throws IOException;
  }

  /** Opens a consumer at a peer that talks like this, and returns why that cannot be. */
  private static MessagingException failure(Talk talk) throws IOException {
    try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      Thread peer =
          new Thread(
              () -> {
                while (!server.isClosed()) {
                  try (Socket guest = server.accept()) {
                    talk.with(guest);
                  } catch (IOException e) {
                    // the guest has had enough
                  }
                }
              },
              "peer");
      peer.setDaemon(true);
      peer.start();
      PulsarBroker broker =
          PulsarBroker.connect(
              PulsarBroker.Settings.at("pulsar://127.0.0.1:" + server.getLocalPort())
                  .withToken(() -> "s3cret")
                  .withOperationTimeout(OPENING));
      long start = System.nanoTime();
      try {
        MessagingException e =
            catchThrowableOfType(
                MessagingException.class, () -> broker.openReceive(request(), new LinkRig.Heard()));
        assertThat(e).isNotNull();
        assertThat(e).hasMessageContaining("127.0.0.1:" + server.getLocalPort());
        assertThat(e.toString()).doesNotContain("s3cret").hasSizeLessThan(1_000);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(OPENING.plus(GRACE));
        return e;
      } finally {
        broker.close(LinkRig.SOON);
      }
    }
  }

  private static ReceiveRequest request() {
    ReceiveRequest like = LinkRig.request("hostile", Ordering.NONE, LinkRig.earliest());
    return new ReceiveRequest(
        List.copyOf(like.addresses()),
        like.group(),
        like.ordering(),
        1,
        4,
        10,
        1L << 20,
        List.of(),
        null,
        like.epoch(),
        null,
        like.nativeSettings(),
        OPENING);
  }

  @Test
  void aPeerThatNeverAnswers_isUnreachable_inTime() throws Exception {
    MessagingException e =
        failure(guest -> guest.getInputStream().transferTo(OutputStream.nullOutputStream()));

    assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
  }

  @Test
  void aPeerThatSendsGarbage_isUnreachable_inTime() throws Exception {
    Random random = new Random(1);
    MessagingException e =
        failure(
            guest -> {
              byte[] bytes = new byte[8_192];
              while (true) {
                random.nextBytes(bytes);
                guest.getOutputStream().write(bytes);
              }
            });

    assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
  }

  /** What says that it has two billion bytes is not given room for them. */
  @Test
  void aFrameWithoutEnd_isNotTaken() throws Exception {
    AtomicLong mostTaken = new AtomicLong();
    MessagingException e =
        failure(
            guest -> {
              OutputStream out = guest.getOutputStream();
              out.write(ByteBuffer.allocate(4).putInt(Integer.MAX_VALUE).array());
              byte[] zeros = new byte[1 << 16];
              for (long taken = 0; ; taken += zeros.length) {
                mostTaken.accumulateAndGet(taken, Math::max);
                out.write(zeros);
              }
            });

    assertThat(e.kind()).isEqualTo(Kind.UNREACHABLE);
    assertThat(mostTaken).hasValueLessThan(MOST_BYTES);
  }
}
