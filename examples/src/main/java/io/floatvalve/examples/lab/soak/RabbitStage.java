package io.floatvalve.examples.lab.soak;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;

/**
 * RabbitMQ: an exchange that routes each message to two queues, one for the client and one for the
 * witness. One node, or several that are a cluster.
 */
final class RabbitStage implements Stage {
  private static final String EXCHANGE = "floatvalve.soak";
  private static final String KEY = "soak";
  private static final String WORK = "floatvalve.soak.work";
  private static final String WITNESSED = "floatvalve.soak.witnessed";
  private static final int UNROUTABLE_EVERY = 256;
  private static final int CONNECT_MILLIS = 5_000;

  private final List<RabbitNode> nodes;
  private final boolean quorum;
  private final List<FaultProxy> proxies = new ArrayList<>();
  private final Network network;

  /**
   * Declares what is needed.
   *
   * @param nodes which are not closed by this
   * @param quorum whether the queues are quorum queues
   */
  RabbitStage(List<RabbitNode> nodes, boolean quorum) throws IOException {
    this.nodes = List.copyOf(nodes);
    this.quorum = quorum;
    for (RabbitNode node : nodes) {
      proxies.add(FaultProxy.to(node.host(), node.port()));
    }
    network = new Network(proxies);
    plainly(
        channel -> {
          channel.exchangeDeclare(EXCHANGE, "direct", true);
          declare(channel, WITNESSED);
          declare(channel, WORK);
        });
    synced();
  }

  private void declare(Channel channel, String queue) throws IOException {
    channel.queueDeclare(
        queue, true, false, false, Map.of("x-queue-type", quorum ? "quorum" : "classic"));
    channel.queueBind(queue, EXCHANGE, KEY);
  }

  /** A kill may lose what was declared a moment ago, with all that is in it. */
  private void synced() {
    nodes.stream().filter(RabbitNode::isRunning).forEach(RabbitNode::syncDeclared);
  }

  /** Does something on a channel. */
  interface Work {
    void on(Channel channel) throws IOException;
  }

  private void plainly(Work work) throws IOException {
    try (Connection connection = connect();
        Channel channel = connection.createChannel()) {
      work.on(channel);
    } catch (TimeoutException e) {
      throw new IOException("closing a channel", e);
    }
  }

  /** Connects past the proxies to a node that runs. */
  Connection connect() throws IOException {
    IOException last = null;
    for (RabbitNode node : nodes) {
      try {
        ConnectionFactory factory = new ConnectionFactory();
        factory.setUri(node.uri());
        factory.setAutomaticRecoveryEnabled(false);
        factory.setConnectionTimeout(CONNECT_MILLIS);
        factory.setHandshakeTimeout(CONNECT_MILLIS);
        return factory.newConnection("floatvalve-soak");
      } catch (IOException | TimeoutException e) {
        last = new IOException("tried " + node, e);
      } catch (URISyntaxException | GeneralSecurityException e) {
        throw new IllegalStateException("a node has no proper address", e);
      }
    }
    throw last == null ? new IOException("no node") : last;
  }

  String witnessed() {
    return WITNESSED;
  }

  @Override
  public Book.Terms terms() {
    return new Book.Terms(
        SoakClient.KEYS, Soak.LONGEST.toMillis(), !quorum, !quorum, UNROUTABLE_EVERY);
  }

  @Override
  public Map<String, String> forClient() {
    Map<String, String> given = new LinkedHashMap<>();
    given.put("broker", "rabbit");
    given.put(
        "uris",
        proxies.stream()
            .map(proxy -> "amqp://guest:guest@" + proxy.host() + ":" + proxy.port())
            .collect(Collectors.joining(",")));
    given.put("to", EXCHANGE);
    given.put("key", KEY);
    given.put("from", WORK);
    given.put("unroutable", Integer.toString(UNROUTABLE_EVERY));
    return given;
  }

  @Override
  public List<Fault> faults() {
    List<Fault> faults = new ArrayList<>(network.faults());
    if (nodes.size() == 1) {
      faults.add(new Fault("kill", soak -> kill(soak, nodes.get(0))));
    } else {
      faults.add(new Fault("kill", soak -> kill(soak, nodes.get(soak.upTo(nodes.size())))));
      faults.add(new Fault("leader", soak -> kill(soak, leader())));
    }
    faults.add(new Fault("alarm", this::alarm));
    faults.add(new Fault("channel", soak -> soak.client().tell("channel")));
    if (!quorum) {
      faults.add(new Fault("cancel", this::cancel));
    }
    faults.add(new Fault("delete", this::delete));
    return faults;
  }

  private static void kill(Soak soak, RabbitNode node) throws InterruptedException {
    node.kill();
    soak.blow(Book.Blow.KILLED);
    soak.pass(Duration.ofMillis(soak.upTo(2_000)));
    node.restart();
  }

  private RabbitNode leader() {
    RabbitNode asked = nodes.stream().filter(RabbitNode::isRunning).findFirst().orElseThrow();
    String answer = asked.ctl("list_queues", "--no-table-headers", "name", "leader");
    for (RabbitNode node : nodes) {
      for (String line : answer.split("\n", -1)) {
        if (line.startsWith(WORK + "\t") && line.contains(Integer.toString(node.port()))) {
          return node;
        }
      }
    }
    throw new IllegalStateException("no node leads " + WORK + ": " + answer);
  }

  /** Of one node, for which a whole cluster stops. */
  private void alarm(Soak soak) throws InterruptedException {
    RabbitNode node = nodes.get(soak.upTo(nodes.size()));
    node.memoryAlarm(true);
    try {
      soak.pass(Duration.ofMillis(1_000 + soak.upTo(6_000)));
    } finally {
      node.memoryAlarm(false);
    }
  }

  /** Ends the process of the queue: its consumers are cancelled, and the broker starts it again. */
  private void cancel(Soak soak) {
    String answer =
        nodes
            .get(0)
            .ctl(
                "eval",
                "{ok, Q} = rabbit_amqqueue:lookup(rabbit_misc:r(<<\"/\">>, queue, <<\""
                    + WORK
                    + "\">>)), exit(amqqueue:get_pid(Q), kill).");
    if (!answer.contains("true")) {
      throw new IllegalStateException("the queue's process was not ended: " + answer);
    }
    soak.blow(Book.Blow.KILLED); // what it had not confirmed is lost with it
  }

  private void delete(Soak soak) throws IOException, InterruptedException {
    plainly(channel -> channel.queueDelete(WORK));
    soak.pass(Duration.ofMillis(soak.upTo(2_000)));
    plainly(channel -> declare(channel, WORK));
    soak.blow(Book.Blow.DELETED);
    soak.client().tell("caught-up");
    synced();
  }

  @Override
  public Witness witness(Book book) {
    return new RabbitWitness(this, book);
  }

  @Override
  public long left() throws IOException {
    long[] left = new long[1];
    plainly(channel -> left[0] = channel.messageCount(WORK));
    return left[0];
  }

  @Override
  public void close() {
    network.close();
  }
}
