package io.floatvalve.examples.cli;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The RabbitMQ that a command works on, in this order: the one given by {@code --uri} or {@code
 * FLOATVALVE_RABBIT}; else an installed {@code rabbitmq-server}, started for this run alone on free
 * ports of 127.0.0.1 and ended with it.
 */
public final class RabbitAtHand implements BrokerAtHand {
  private static final int CONNECT_MILLIS = 5_000;

  private final String uri;
  private final String version;
  private final String how;
  private final @Nullable RabbitNode node;

  private RabbitAtHand(String uri, String version, String how, @Nullable RabbitNode node) {
    this.uri = uri;
    this.version = version;
    this.how = how;
    this.node = node;
  }

  /**
   * Finds or starts one, and says on the console's first line which one it is.
   *
   * @throws CannotRun if there is none, or it cannot be reached
   */
  public static RabbitAtHand open(CommonOptions options, Console console) {
    return open(options, console, RabbitNode::start);
  }

  /** As {@link #open}; a node that it starts has the management interface. */
  public static RabbitAtHand openManaged(CommonOptions options, Console console) {
    return open(options, console, RabbitNode::startManaged);
  }

  private static RabbitAtHand open(
      CommonOptions options, Console console, Supplier<RabbitNode> starting) {
    String given = options.rabbitUri();
    RabbitAtHand found = given == null ? started(console, starting) : existing(given, options);
    console.say("broker: " + found.describe());
    return found;
  }

  /**
   * Finds or starts one beside another broker, whose address {@code --uri} is: the one given by
   * {@code FLOATVALVE_RABBIT}, else a private one; empty, with a warning, if there is none.
   */
  public static Optional<RabbitAtHand> openBeside(Console console) {
    try {
      String given = CommonOptions.rabbitUriOfVariable();
      RabbitAtHand found =
          given == null
              ? started(console, RabbitNode::start)
              : new RabbitAtHand(
                  given, versionAt(given), "given by " + CommonOptions.RABBIT_VARIABLE, null);
      console.say("broker: " + found.describe());
      return Optional.of(found);
    } catch (CannotRun e) {
      console.warn("without RabbitMQ: " + e.getMessage());
      return Optional.empty();
    }
  }

  private static RabbitAtHand existing(String uri, CommonOptions options) {
    String how =
        options.givenUri() == null ? "given by " + CommonOptions.RABBIT_VARIABLE : "given by --uri";
    return new RabbitAtHand(uri, versionAt(uri), how, null);
  }

  private static RabbitAtHand started(Console console, Supplier<RabbitNode> starting) {
    if (!RabbitNode.available()) {
      throw CannotRun.unreachable(
          "no RabbitMQ: neither --uri nor "
              + CommonOptions.RABBIT_VARIABLE
              + " names one, and none is installed here ("
              + RabbitNode.whyMissing().orElse("no reason known")
              + ")");
    }
    console.progress("starting a private RabbitMQ node ...");
    RabbitNode node;
    try {
      node = starting.get();
    } catch (IllegalStateException e) {
      throw CannotRun.unreachable("the installed rabbitmq-server did not start", e);
    }
    try {
      return new RabbitAtHand(
          node.uri(),
          versionAt(node.uri()),
          "a private node of the installed rabbitmq-server",
          node);
    } catch (CannotRun e) {
      node.close();
      throw e;
    }
  }

  private static String versionAt(String uri) {
    try (Connection connection = connect(uri, "floatvalve-version")) {
      Map<String, Object> properties = connection.getServerProperties();
      return properties.getOrDefault("product", "AMQP broker")
          + " "
          + properties.getOrDefault("version", "of unknown version");
    } catch (IOException e) {
      throw CannotRun.unreachable("tried " + CannotRun.masked(uri), e);
    }
  }

  private static Connection connect(String uri, String name) throws IOException {
    ConnectionFactory factory = new ConnectionFactory();
    factory.setConnectionTimeout(CONNECT_MILLIS);
    factory.setHandshakeTimeout(CONNECT_MILLIS);
    factory.setAutomaticRecoveryEnabled(false);
    try {
      factory.setUri(uri);
      return factory.newConnection(name);
    } catch (URISyntaxException | GeneralSecurityException e) {
      throw CannotRun.badInput("--uri", CannotRun.masked(uri), CannotRun.inWords(e));
    } catch (TimeoutException e) {
      throw new IOException("no answer in " + CONNECT_MILLIS + " ms", e);
    }
  }

  /** Returns one line about it, for people. */
  public String describe() {
    return version + ", " + how + ", " + CannotRun.masked(uri);
  }

  @Override
  public void describeTo(Findings findings) {
    findings.broker("rabbitmq", version, how);
  }

  /** Returns the address with its credentials. */
  public String uri() {
    return uri;
  }

  /** Returns the address with another host and port, such as those of a proxy before it. */
  public String uriAt(String host, int port) {
    URI base = URI.create(uri);
    String user = base.getRawUserInfo() == null ? "" : base.getRawUserInfo() + "@";
    String path = base.getRawPath() == null ? "" : base.getRawPath();
    return base.getScheme() + "://" + user + host + ":" + port + path;
  }

  /** Returns the host. */
  public String host() {
    return URI.create(uri).getHost();
  }

  /** Returns the port. */
  public int port() {
    URI base = URI.create(uri);
    return base.getPort() > 0 ? base.getPort() : "amqps".equals(base.getScheme()) ? 5671 : 5672;
  }

  /** Returns whether a proxy can be put before it: TLS would see the wrong host. */
  public boolean plain() {
    return uri.startsWith("amqp://");
  }

  /** Returns product and version as the broker says them. */
  public String version() {
    return version;
  }

  /** Returns the private node, or empty if it is a broker that was given. */
  public Optional<RabbitNode> node() {
    return Optional.ofNullable(node);
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return messaging(uri, listener);
  }

  /** Begins messaging over another way to it, such as through a proxy. */
  public static Messaging messaging(String uri, Consumer<Event> listener) {
    return Messaging.over(RabbitBroker.connect(uri), listener);
  }

  /** Opens a plain connection, for declaring queues and reading them back. */
  public Connection connection(String name) {
    try {
      return connect(uri, name);
    } catch (IOException e) {
      throw CannotRun.unreachable("tried " + CannotRun.masked(uri), e);
    }
  }

  /** Opens a plain connection another way, such as through a proxy. */
  public static Connection connectionAt(URI uri) throws IOException {
    return connect(uri.toString(), "floatvalve lab plain");
  }

  @Override
  public void close() {
    if (node != null) {
      node.close();
    }
  }
}
