package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.floatvalve.testkit.FaultProxy.Cut;
import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FaultProxyTest {
  private static final int MEBIBYTE = 1024 * 1024;

  // A thread a task: the common pool of a small machine has too few for those that block.
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<AutoCloseable> open = new ArrayList<>();
  private ServerSocket server;
  private FaultProxy proxy;
  private Socket client;
  private Socket broker;

  @BeforeEach
  void connect() throws IOException {
    server = keep(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
    proxy = keep(FaultProxy.to("127.0.0.1", server.getLocalPort()));
    client = keep(new Socket(proxy.host(), proxy.port()));
    broker = keep(server.accept());
    await().until(() -> proxy.connections() == 1);
  }

  @AfterEach
  void closeAll() throws Exception {
    for (AutoCloseable each : open) {
      each.close();
    }
    threads.shutdown();
  }

  @Test
  void withoutFaults_bytesAndTheEndOfAStreamPassAsTheyAre() throws Exception {
    byte[] sent = random(3 * MEBIBYTE);
    CompletableFuture<byte[]> received = reading(broker);

    client.getOutputStream().write(sent);
    client.shutdownOutput();

    assertThat(received.get(20, TimeUnit.SECONDS)).isEqualTo(sent);
    broker.getOutputStream().write("answer".getBytes(US_ASCII));
    broker.close();
    assertThat(readAll(client)).asString(US_ASCII).isEqualTo("answer");
    await().until(() -> proxy.connections() == 0);
  }

  @Test
  void delay_addsToTheTimeUnderWay_andTakesNothingFromTheThroughput() throws Exception {
    proxy.delay(Direction.TO_BROKER, Duration.ofMillis(300));
    byte[] sent = random(8 * MEBIBYTE);
    long begin = System.nanoTime();
    CompletableFuture<byte[]> received = reading(broker);

    client.getOutputStream().write(sent);
    client.shutdownOutput();

    assertThat(received.get(30, TimeUnit.SECONDS)).isEqualTo(sent);
    // a delay per chunk, or a line of 64 KiB, would make it more than 30 s
    assertThat(Duration.ofNanos(System.nanoTime() - begin))
        .isBetween(Duration.ofMillis(300), Duration.ofSeconds(25));
  }

  @Test
  void delay_takenOff_releasesWhatIsUnderWay() throws Exception {
    proxy.delay(Direction.FROM_BROKER, Duration.ofMinutes(10));
    broker.getOutputStream().write(7);
    client.setSoTimeout(100);
    assertThatThrownBy(() -> client.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);

    proxy.delay(Direction.FROM_BROKER, Duration.ZERO);

    client.setSoTimeout(20_000);
    assertThat(client.getInputStream().read()).isEqualTo(7);
  }

  @Test
  void rate_boundsWhatAConnectionMoves_andCanBeTakenOffLive() throws Exception {
    proxy.rate(Direction.TO_BROKER, 50_000);
    byte[] sent = random(64 * 1024);
    long begin = System.nanoTime(); // before the write, from which on bytes move
    client.getOutputStream().write(sent);
    DataInputStream in = new DataInputStream(broker.getInputStream());

    in.readFully(new byte[25_000]);

    assertThat(System.nanoTime() - begin).isGreaterThan(TimeUnit.MILLISECONDS.toNanos(400));
    proxy.rate(Direction.TO_BROKER, 1);
    proxy.unlimited(Direction.TO_BROKER);
    in.readFully(new byte[sent.length - 25_000]);
  }

  @Test
  void stall_isFeltByTheSender_andLosesNothing() throws Exception {
    proxy.stall(Direction.TO_BROKER);
    client.setSendBufferSize(32 * 1024);
    byte[] sent = random(4 * MEBIBYTE);
    AtomicLong written = new AtomicLong();
    CompletableFuture<Void> writer =
        CompletableFuture.runAsync(
            () -> {
              try {
                for (int offset = 0; offset < sent.length; offset += 4096) {
                  client.getOutputStream().write(sent, offset, 4096);
                  written.addAndGet(4096);
                }
                client.shutdownOutput();
              } catch (IOException e) {
                throw new IllegalStateException(e);
              }
            },
            threads);

    await()
        .during(Duration.ofMillis(500))
        .atMost(Duration.ofSeconds(20))
        .until(written::get, count -> count > 0 && count < MEBIBYTE);
    assertThat(broker.getInputStream().available()).isZero();
    broker.getOutputStream().write(9);
    assertThat(client.getInputStream().read()).as("the other direction goes on").isEqualTo(9);

    proxy.unstall(Direction.TO_BROKER);

    assertThat(readAll(broker)).isEqualTo(sent);
    writer.get(10, TimeUnit.SECONDS);
  }

  @Test
  void stall_holdsTheEndOfTheStreamBackToo() throws Exception {
    proxy.stall();
    broker.close();
    client.setSoTimeout(300);
    assertThatThrownBy(() -> client.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);

    proxy.unstall();

    client.setSoTimeout(20_000);
    assertThat(client.getInputStream().read()).isEqualTo(-1);
  }

  @Test
  void cutByReset_failsReadsAtBothEnds() throws Exception {
    assertThat(proxy.cut(Cut.RESET)).isEqualTo(1);

    assertThatThrownBy(() -> client.getInputStream().read())
        .isInstanceOf(SocketException.class)
        .hasMessageContaining("reset");
    assertThatThrownBy(() -> broker.getInputStream().read())
        .isInstanceOf(SocketException.class)
        .hasMessageContaining("reset");
    assertThat(proxy.connections()).isZero();
  }

  @Test
  void abandon_resetsTheClientsEnd_andTheBrokersStaysOpenAndSilent() throws Exception {
    assertThat(proxy.abandon()).isEqualTo(1);

    assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(IOException.class);
    broker.getOutputStream().write(random(MEBIBYTE)); // read, and thrown away
    broker.setSoTimeout(300);
    assertThatThrownBy(() -> broker.getInputStream().read())
        .isInstanceOf(SocketTimeoutException.class);
    assertThat(proxy.connections()).isZero();
    Socket next = keep(new Socket(proxy.host(), proxy.port()));
    Socket nextBroker = keep(server.accept());
    nextBroker.getOutputStream().write(7);
    assertThat(next.getInputStream().read()).isEqualTo(7);
    proxy.close();
    broker.setSoTimeout(20_000);
    assertThatThrownBy(() -> broker.getInputStream().read()).isInstanceOf(IOException.class);
  }

  @Test
  void cutInAnOrderlyWay_endsTheStreamsAtBothEnds_evenWhenStalledAndFull() throws Exception {
    proxy.stall();
    AtomicLong written = new AtomicLong();
    CompletableFuture<Void> up = filling(client, written);
    CompletableFuture<Void> down = filling(broker, written);
    AtomicLong before = new AtomicLong();
    await() // until they hang; they go on when cut
        .pollInterval(Duration.ofMillis(200))
        .until(() -> written.get() > 0 && before.getAndSet(written.get()) == written.get());
    assertThat(up).isNotDone();
    assertThat(down).isNotDone();

    assertThat(proxy.cut(Cut.END)).isEqualTo(1);

    assertThat(client.getInputStream().read()).isEqualTo(-1);
    assertThat(broker.getInputStream().read()).isEqualTo(-1);
    assertThat(proxy.connections()).isZero();
  }

  @Test
  void resetByTheBroker_reachesTheClient() throws Exception {
    broker.setSoLinger(true, 0);
    broker.close();

    assertThatThrownBy(() -> client.getInputStream().read()).isInstanceOf(SocketException.class);
    await().until(() -> proxy.connections() == 0);
  }

  @Test
  void refuse_isARefusalByTheSystem_andOpenConnectionsGoOn() throws Exception {
    proxy.refuse();

    // The system closes the listener once the thread that accepts has left it: in a moment.
    await()
        .untilAsserted(
            () ->
                assertThatThrownBy(() -> new Socket(proxy.host(), proxy.port()).close())
                    .isInstanceOf(ConnectException.class));
    client.getOutputStream().write(5);
    assertThat(broker.getInputStream().read()).isEqualTo(5);

    proxy.accept();
    keep(new Socket(proxy.host(), proxy.port()));
    keep(server.accept());
    await().until(() -> proxy.connections() == 2);
    assertThat(proxy.accepted()).isEqualTo(2);
  }

  @Test
  void brokerGone_resetsTheClient() throws Exception {
    server.close();

    Socket late = keep(new Socket(proxy.host(), proxy.port()));

    assertThatThrownBy(() -> late.getInputStream().read()).isInstanceOf(SocketException.class);
  }

  @Test
  void close_whileStalledAndFullInBothDirections_returnsAndEndsEveryThread() throws Exception {
    AtomicLong seen = new AtomicLong();
    // Before the first byte: nobody reads, so the buffers may be full for good a moment later.
    proxy.tap((connection, direction, bytes) -> seen.addAndGet(bytes.remaining()));
    CompletableFuture<Void> up = filling(client, new AtomicLong());
    CompletableFuture<Void> down = filling(broker, new AtomicLong());
    await().until(() -> seen.get() > 0);
    proxy.stall();
    String mine = "fault-proxy-1-";
    // Those of another test's proxy may still be dying, and the last of this one on their way.
    await().untilAsserted(() -> assertThat(threads(mine)).hasSize(4));

    CompletableFuture.runAsync(proxy::close, threads).get(20, TimeUnit.SECONDS);

    assertThat(up).failsWithin(Duration.ofSeconds(20));
    assertThat(down).failsWithin(Duration.ofSeconds(20));
    await().untilAsserted(() -> assertThat(threads(mine)).isEmpty());
  }

  @Test
  void taps_seeTheBytesOfEachConnectionAndDirection_beforeTheOtherEndDoes() throws Exception {
    ConcurrentHashMap<String, String> seen = new ConcurrentHashMap<>();
    proxy.tap(
        (connection, direction, bytes) ->
            seen.merge(
                connection + " " + direction, US_ASCII.decode(bytes).toString(), String::concat));
    Socket second = keep(new Socket(proxy.host(), proxy.port()));
    Socket secondBroker = keep(server.accept());

    client.getOutputStream().write("question".getBytes(US_ASCII));
    assertThat(broker.getInputStream().readNBytes(8)).asString(US_ASCII).isEqualTo("question");
    assertThat(seen).containsExactlyEntriesOf(java.util.Map.of("1 TO_BROKER", "question"));
    secondBroker.getOutputStream().write("greeting".getBytes(US_ASCII));
    assertThat(second.getInputStream().readNBytes(8)).hasSize(8);

    assertThat(seen).hasSize(2).containsEntry("2 FROM_BROKER", "greeting");
  }

  @Test
  void tapThatThrows_disturbsNoBytes_andIsReportedByClose() throws Exception {
    proxy.tap(
        (connection, direction, bytes) -> {
          throw new IllegalStateException("planted");
        });

    client.getOutputStream().write(3);

    assertThat(broker.getInputStream().read()).isEqualTo(3);
    assertThatThrownBy(proxy::close).hasMessage("planted");
    proxy.close();
  }

  private <T extends AutoCloseable> T keep(T closeable) {
    open.add(0, closeable);
    return closeable;
  }

  private static byte[] random(int length) {
    byte[] bytes = new byte[length];
    new Random(length).nextBytes(bytes);
    return bytes;
  }

  private static byte[] readAll(Socket socket) {
    try {
      InputStream in = socket.getInputStream();
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      in.transferTo(all);
      return all.toByteArray();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private CompletableFuture<byte[]> reading(Socket socket) {
    return CompletableFuture.supplyAsync(() -> readAll(socket), threads);
  }

  private CompletableFuture<Void> filling(Socket socket, AtomicLong written) {
    return CompletableFuture.runAsync(() -> fill(socket, written), threads);
  }

  private static void fill(Socket socket, AtomicLong written) {
    try {
      while (true) {
        socket.getOutputStream().write(new byte[65_536]);
        written.addAndGet(65_536);
      }
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<String> threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .map(Thread::getName)
        .filter(name -> name.startsWith(prefix))
        .toList();
  }
}
