package io.floatvalve.examples.cli;

import io.floatvalve.Messaging;
import io.floatvalve.event.Event;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.testkit.FaultProxy;
import io.floatvalve.testkit.PulsarNode;
import io.floatvalve.testkit.PulsarRest;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.jspecify.annotations.Nullable;

/**
 * The Pulsar that a command works on, in this order: the one given by {@code --uri} or {@code
 * FLOATVALVE_PULSAR}; else a private broker, started for this run alone on free ports of 127.0.0.1
 * and ended with it.
 */
public final class PulsarAtHand implements BrokerAtHand {
  private static final int CONNECT_MILLIS = 5_000;

  private final PulsarNode node;
  private final @Nullable String token;
  private final String version;
  private final String how;
  private final boolean own;
  private final String run = UUID.randomUUID().toString().substring(0, 8);
  private @Nullable PulsarClient client; // guarded by this

  private PulsarAtHand(
      PulsarNode node, @Nullable String token, String version, String how, boolean own) {
    this.node = node;
    this.token = token;
    this.version = version;
    this.how = how;
    this.own = own;
  }

  /**
   * Finds or starts one, and says on the console's first line which one it is.
   *
   * @throws CannotRun if there is none, or it cannot be reached
   */
  public static PulsarAtHand open(CommonOptions options, PulsarOptions pulsar, Console console) {
    String given = options.pulsarUri();
    String adminUri = pulsar.adminUri();
    if (given == null && adminUri != null) {
      throw CannotRun.badInput("--admin-uri", adminUri, "given without a --uri");
    }
    String how =
        options.givenUri() == null ? "given by " + CommonOptions.PULSAR_VARIABLE : "given by --uri";
    PulsarAtHand found =
        given == null ? started(console) : existing(given, adminUri, options.token(), how);
    console.say("broker: " + found.describe());
    return found;
  }

  /**
   * Finds or starts one beside another broker, whose address {@code --uri} is: the one given by
   * {@code FLOATVALVE_PULSAR}, else a private one.
   *
   * @throws CannotRun if there is none, or it cannot be reached
   */
  public static PulsarAtHand openBeside(Console console) {
    String given = CommonOptions.pulsarUriOfVariable();
    PulsarAtHand found =
        given == null
            ? started(console)
            : existing(given, null, null, "given by " + CommonOptions.PULSAR_VARIABLE);
    console.say("broker: " + found.describe());
    return found;
  }

  private static PulsarAtHand existing(
      String uri, @Nullable String adminUri, @Nullable String token, String how) {
    PulsarNode node = PulsarNode.of(uri, adminUri);
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(node.host(), node.port()), CONNECT_MILLIS);
    } catch (IOException e) {
      throw CannotRun.unreachable("tried " + uri, e);
    }
    return new PulsarAtHand(node, token, versionOf(node), how, false);
  }

  private static PulsarAtHand started(Console console) {
    Optional<String> missing = PulsarNode.whyNoProcess();
    if (missing.isPresent()) {
      throw CannotRun.unreachable(
          "no Pulsar: neither --uri nor "
              + CommonOptions.PULSAR_VARIABLE
              + " names one, and none can be started here ("
              + missing.get()
              + ")");
    }
    console.progress("starting a private Pulsar broker ...");
    PulsarNode node;
    try {
      node = PulsarNode.start();
    } catch (IllegalStateException | UncheckedIOException e) {
      throw CannotRun.unreachable("the private Pulsar broker did not start", e);
    }
    return new PulsarAtHand(node, null, versionOf(node), "a private broker", true);
  }

  private static String versionOf(PulsarNode node) {
    try {
      return "Pulsar " + node.rest().send("GET", "brokers/version", "").strip();
    } catch (IllegalStateException | UncheckedIOException e) {
      return "Pulsar of unknown version";
    }
  }

  /** Returns one line about it, for people. */
  public String describe() {
    return version + ", " + how + ", " + node.serviceUrl();
  }

  @Override
  public void describeTo(Findings findings) {
    findings.broker("pulsar", version, how);
  }

  /** Returns the address. */
  public String uri() {
    return node.serviceUrl();
  }

  /** Returns whether it was started for this run: then its wire can be watched. */
  public boolean isOwn() {
    return own;
  }

  /** Returns the private broker, or empty if it is one that was given. */
  public Optional<PulsarNode> node() {
    return own ? Optional.of(node) : Optional.empty();
  }

  /** Returns the admin interface, which a broker that was given may not have here. */
  public PulsarRest rest() {
    return node.rest();
  }

  /** Returns whether the admin interface answers. */
  public boolean hasAdmin() {
    return !version.endsWith("unknown version");
  }

  /** Returns a name for a topic that no other run has. */
  public String topic(String what) {
    return "floatvalve-" + what + "-" + run;
  }

  /** Opens a proxy before it; only where {@link #isOwn}. */
  public FaultProxy proxy() {
    return node.openProxy();
  }

  @Override
  public Messaging messaging(Consumer<Event> listener) {
    return Messaging.over(
        PulsarBroker.connect(PulsarBroker.Settings.at(uri()).withAuthentication(authentication())),
        listener);
  }

  /** Begins messaging over it through a proxy. */
  public Messaging messaging(FaultProxy proxy, Consumer<Event> listener) {
    return Messaging.over(
        PulsarBroker.connect(
            PulsarBroker.Settings.at("pulsar://" + proxy.host() + ":" + proxy.port())
                .withListenerName(PulsarNode.PROXY_LISTENER)),
        listener);
  }

  private org.apache.pulsar.client.api.@Nullable Authentication authentication() {
    return token == null ? null : AuthenticationFactory.token(token);
  }

  /** Returns a plain client, for sending and for comparisons; the same one always. */
  public synchronized PulsarClient client() {
    PulsarClient known = client;
    if (known == null) {
      known = built(PulsarClient.builder().serviceUrl(uri()));
      client = known;
    }
    return known;
  }

  /** Returns a plain client of its own, through a proxy. */
  public PulsarClient client(FaultProxy proxy) {
    return built(
        PulsarClient.builder()
            .serviceUrl("pulsar://" + proxy.host() + ":" + proxy.port())
            .listenerName(PulsarNode.PROXY_LISTENER));
  }

  private PulsarClient built(ClientBuilder builder) {
    try {
      String secret = token;
      if (secret != null) {
        builder.authentication(AuthenticationFactory.token(secret));
      }
      return builder.connectionTimeout(CONNECT_MILLIS, TimeUnit.MILLISECONDS).build();
    } catch (PulsarClientException e) {
      throw CannotRun.unreachable("tried " + uri(), e);
    }
  }

  @Override
  public void close() {
    PulsarClient open;
    synchronized (this) {
      open = client;
      client = null;
    }
    if (open != null) {
      try {
        open.shutdown();
      } catch (PulsarClientException e) {
        // It is gone either way.
      }
    }
    node.close();
  }
}
