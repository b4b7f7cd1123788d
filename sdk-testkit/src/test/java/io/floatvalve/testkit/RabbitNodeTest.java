package io.floatvalve.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class RabbitNodeTest {
  @Test
  @NeedsRabbit(ownProcess = true)
  void twoNodesAtOnce_eachKeepsItsOwnDataOverKillStopAndPause() throws Exception {
    RabbitNode shared = RabbitNode.shared();
    Path folder;
    try (RabbitNode node = RabbitNode.start(List.of("consumer_timeout = 123000"))) {
      assertThat(node.port()).isNotEqualTo(shared.port());
      assertThat(node.version()).matches("\\d+\\.\\d+\\.\\d+.*");
      assertThat(node.rssBytes()).isGreaterThan(20_000_000);
      assertThat(node.ctl("environment")).contains("123000");

      publishOne(node.uri(), "kept");
      assertThat(exists(shared.uri(), "kept")).isFalse();

      node.pause();
      CompletableFuture<String> version = CompletableFuture.supplyAsync(() -> of(node).version());
      assertThat(version).failsWithin(Duration.ofSeconds(1));
      node.resume();
      assertThat(of(node).version()).isEqualTo(node.version());

      List<Long> pids = node.pids();
      node.stop();
      assertThat(pids).isNotEmpty().allSatisfy(RabbitNodeTest::assertGone);
      assertThat(node.pids()).isEmpty();
      assertThat(orderlyStops(node)).isEqualTo(1);
      node.restart();
      assertThat(depth(node.uri(), "kept")).isEqualTo(1);

      List<Long> again = node.pids();
      node.kill();
      assertThat(again).isNotEmpty().doesNotContainAnyElementsOf(pids);
      assertThat(ProcessHandle.of(again.get(0)).filter(ProcessHandle::isAlive)).isEmpty();
      assertThatThrownBy(node::rssBytes).isInstanceOf(IllegalStateException.class);
      assertThat(orderlyStops(node)).as("none by the kill").isEqualTo(1);
      node.restart();
      assertThat(depth(node.uri(), "kept")).isEqualTo(1);

      folder = node.folder();
    }
    assertThat(folder).doesNotExist();
  }

  @Test
  @NeedsRabbit(ownProcess = true)
  void queueThatWasSynced_outlivesAKill() throws Exception {
    try (RabbitNode node = RabbitNode.start()) {
      // A kill loses what was declared too seldom to tell: so the broker says that it was synced.
      node.ctl(
          "eval",
          """
          P = spawn(fun F() -> receive {trace, _, call, _} -> persistent_term:put(synced, yes), F() \
          end end), erlang:trace(all, true, [call, {tracer, P}]), \
          erlang:trace_pattern({mnesia, sync_log, 0}, true, [global]).""");
      assertThat(node.ctl("eval", "persistent_term:get(synced, no).")).contains("no");
      node.syncDeclared();
      assertThat(node.ctl("eval", "persistent_term:get(synced, no).")).contains("yes");

      for (int i = 0; i < 2; i++) {
        String queue = "synced-" + i;
        publishOne(node.uri(), queue);

        node.syncDeclared();
        node.kill();
        node.restart();

        assertThat(depth(node.uri(), queue)).isEqualTo(1);
      }
    }
  }

  @Test
  @NeedsRabbit(ownProcess = true)
  void memoryAlarm_blocksAPublishingConnectionUntilItIsTakenOff() throws Exception {
    RabbitNode node = RabbitNode.shared();
    node.memoryAlarm(true);
    try (Connection connection = connect(node.uri())) {
      CountDownLatch blocked = new CountDownLatch(1);
      CountDownLatch unblocked = new CountDownLatch(1);
      connection.addBlockedListener(reason -> blocked.countDown(), unblocked::countDown);
      Channel channel = connection.createChannel();
      Awaitility.await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () -> {
                channel.basicPublish("", "nowhere", null, new byte[10]);
                return blocked.await(100, TimeUnit.MILLISECONDS);
              });

      node.memoryAlarm(false);

      assertThat(unblocked.await(20, TimeUnit.SECONDS)).isTrue();
    } finally {
      node.memoryAlarm(false);
    }
  }

  @Test
  @NeedsRabbit
  void sharedNode_isTheSameForAll_andSurvivesClose(RabbitNode node) {
    node.close();

    assertThat(RabbitNode.shared()).isSameAs(node);
    assertThat(of(node).version()).isEqualTo(node.version());
  }

  @Test
  void givenBroker_refusesWhatNeedsItsProcess() {
    RabbitNode given = RabbitNode.of("amqp://user:secret@example.invalid:1234/vhost");

    assertThat(given.how()).isEqualTo(RabbitNode.How.GIVEN);
    assertThat(given.port()).isEqualTo(1234);
    assertThat(RabbitNode.of("amqps://example.invalid").port()).isEqualTo(5671);
    assertThatThrownBy(given::kill)
        .isInstanceOf(UnsupportedOperationException.class)
        .hasMessageContaining("example.invalid:1234")
        .hasMessageNotContaining("secret");
    assertThatThrownBy(() -> RabbitNode.of("http://example.invalid"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void nothingInstalled_theReasonNamesTheFoldersAndTheWaysOut() {
    RabbitInstall.Found found =
        RabbitInstall.find(Map.of("FLOATVALVE_RABBIT_BIN", "/nowhere"), "somebody");

    assertThat(found.install()).isEmpty();
    assertThat(found.whyMissing())
        .contains("/nowhere", "FLOATVALVE_RABBIT_BIN", "FLOATVALVE_RABBIT");
  }

  @Test
  void chroot_needsRabbitInside_thenRoot_thenProc() throws Exception {
    Path root = Files.createTempDirectory("root");
    Map<String, String> environment = Map.of("FLOATVALVE_RABBIT_CHROOT", root.toString());
    assertThat(RabbitInstall.find(environment, "root").whyMissing()).contains("rabbitmq-server");

    Path bin = Files.createDirectories(root.resolve("usr/lib/rabbitmq/bin"));
    assertThat(Files.createFile(bin.resolve("rabbitmq-server")).toFile().setExecutable(true))
        .isTrue();
    assertThat(RabbitInstall.find(environment, "somebody").whyMissing()).contains("needs root");
    assertThat(RabbitInstall.find(environment, "root").whyMissing()).contains("mount /proc");

    Files.createDirectories(root.resolve("proc/self"));
    RabbitInstall install = RabbitInstall.find(environment, "root").install().orElseThrow();
    assertThat(install.how()).isEqualTo(RabbitNode.How.CHROOT);
    assertThat(install.seen(root.resolve("var/x"))).isEqualTo("/var/x");
  }

  @Test
  void missingBroker_skipsTheTest_butFailsItOnABuildServer() {
    var decide = NeedsRabbitExtension.Missing.decide("test", Optional.of("no broker"), false);
    assertThat(decide.isDisabled()).isTrue();
    assertThat(decide.getReason()).hasValue("test: no broker");

    assertThatThrownBy(
            () -> NeedsRabbitExtension.Missing.decide("test", Optional.of("no broker"), true))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("no broker");
    assertThat(NeedsRabbitExtension.Missing.decide("test", Optional.empty(), true).isDisabled())
        .isFalse();
  }

  @Test
  void processesOfAKilledJvm_areEndedByTheNext() throws Exception {
    Path scratch = Files.createTempDirectory("scratch");
    Path folder = Files.createDirectories(scratch.resolve("rabbit-x"));
    Process orphan = new ProcessBuilder("sleep", "600").start();
    Process other = new ProcessBuilder("sleep", "600").start();
    try {
      OwnedProcesses mine = new OwnedProcesses(scratch, folder);
      mine.own(orphan.toHandle());
      OwnedProcesses.endOrphans(scratch);
      assertThat(orphan.isAlive()).as("its JVM lives").isTrue();

      Path file = scratch.resolve("rabbit-x.processes");
      List<String> lines = Files.readAllLines(file);
      String reused = other.pid() + " 1";
      Files.write(file, List.of("1 1", lines.get(1), lines.get(2), reused));
      OwnedProcesses.endOrphans(scratch);

      assertThat(orphan.waitFor(10, TimeUnit.SECONDS)).isTrue();
      assertThat(other.isAlive()).as("started at another time than the one noted").isTrue();
      assertThat(folder).doesNotExist();
      assertThat(file).doesNotExist();
    } finally {
      orphan.destroyForcibly();
      other.destroyForcibly();
    }
  }

  /** Returns how often the broker wrote into its log that it was asked to stop. */
  private static long orderlyStops(RabbitNode node) throws IOException {
    long count = 0;
    try (Stream<Path> logs = Files.list(node.folder().resolve("log"))) {
      for (Path log : logs.filter(Files::isRegularFile).toList()) {
        try (Stream<String> lines = Files.lines(log)) {
          count += lines.filter(line -> line.contains("SIGTERM received")).count();
        }
      }
    }
    return count;
  }

  private static RabbitNode of(RabbitNode node) {
    return RabbitNode.of(node.uri());
  }

  private static void assertGone(long pid) {
    assertThat(ProcessHandle.of(pid).filter(ProcessHandle::isAlive)).as("pid %s", pid).isEmpty();
  }

  private static Connection connect(String uri) throws Exception {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setUri(uri);
    factory.setAutomaticRecoveryEnabled(false);
    return factory.newConnection();
  }

  private static void publishOne(String uri, String queue) throws Exception {
    try (Connection connection = connect(uri);
        Channel channel = connection.createChannel()) {
      channel.queueDeclare(queue, true, false, false, null);
      channel.confirmSelect();
      channel.basicPublish("", queue, MessageProperties.PERSISTENT_BASIC, new byte[] {1});
      channel.waitForConfirmsOrDie(10_000);
    }
  }

  private static boolean exists(String uri, String queue) throws Exception {
    try (Connection connection = connect(uri)) {
      Channel channel = connection.createChannel();
      try {
        channel.queueDeclarePassive(queue);
        return true;
      } catch (IOException e) {
        return false;
      }
    }
  }

  private static int depth(String uri, String queue) throws Exception {
    try (Connection connection = connect(uri);
        Channel channel = connection.createChannel()) {
      return channel.queueDeclarePassive(queue).getMessageCount();
    }
  }
}
