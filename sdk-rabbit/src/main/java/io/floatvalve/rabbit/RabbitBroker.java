package io.floatvalve.rabbit;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * RabbitMQ, by AMQP 0-9-1.
 *
 * <p>Messages carry two headers of Floatvalve's own: {@code x-floatvalve-key} with the ordering
 * key, if there is one, and, on mandatory messages, {@code x-floatvalve-send}, eight bytes by which
 * a return finds its message. An application's headers of these names are not sent. All publishers
 * share one connection, with a channel each. Nothing is declared: queues and exchanges are there or
 * not.
 *
 * <p>Thread-safe. Given to {@code Messaging.over}, which closes it.
 */
public final class RabbitBroker implements Broker {
  private final Settings settings;

  /*
   * One connection a direction: a consumer that does not keep up stops the reader of its connection,
   * and a broker that throttles a publisher reads no acknowledgements from the same connection.
   */
  private final SharedTrunk publishing;
  private final SharedTrunk consuming;

  private RabbitBroker(Settings settings) {
    this.settings = settings;
    this.publishing = new SharedTrunk(settings, settings.connectionName() + " (publishing)");
    this.consuming = new SharedTrunk(settings, settings.connectionName() + " (consuming)");
  }

  /**
   * Connects with the default of everything that the address does not say.
   *
   * @param uri {@code amqp://user:password@host:port/vhost} or {@code amqps://…}; see {@link
   *     Settings#at}
   * @throws IllegalArgumentException if it is no such URI
   * @throws MessagingException if no connection can be had: names the address and the cause
   */
  public static RabbitBroker connect(String uri) {
    return connect(Settings.at(uri));
  }

  /**
   * Opens a connection, which the first publisher then takes. Waits for the broker: for each
   * address, at most the connect timeout for TCP and for TLS, and the rpc timeout for each answer.
   *
   * @throws MessagingException if no connection can be had: names each address and its cause
   */
  public static RabbitBroker connect(Settings settings) {
    RabbitBroker broker = new RabbitBroker(Objects.requireNonNull(settings, "settings"));
    try {
      broker.publishing.get(Duration.ofDays(1)); // an attempt ends by its own timeouts
    } catch (MessagingException e) {
      broker.close(Duration.ZERO);
      throw e;
    }
    return broker;
  }

  @Override
  public String describe() {
    return publishing.describe();
  }

  @Override
  public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener) {
    String refusal = PublishChannel.refusal(request.address());
    if (refusal != null) {
      throw new MessagingException(Kind.INVALID, refusal, null);
    }
    String delayedExchange = nativeSettings(request).delayedExchange(request.address());
    Answers answers = new Answers(listener, request.epoch(), delayedExchange);
    return new PublishOpening(publishing, request, answers, delayedExchange).await();
  }

  private static PublishSettings nativeSettings(PublishRequest request) {
    Object given = request.nativeSettings();
    if (given == null) {
      return PublishSettings.defaults();
    }
    if (given instanceof PublishSettings settings) {
      return settings;
    }
    throw new MessagingException(
        Kind.INVALID,
        "the native settings for RabbitMQ are a "
            + PublishSettings.class.getCanonicalName()
            + ", were a "
            + given.getClass().getName(),
        null);
  }

  @Override
  public ReceiveLink openReceive(ReceiveRequest request, ReceiveLink.Listener listener) {
    if (request.addresses().size() != 1) {
      throw new MessagingException(
          Kind.INVALID, "a consumer of RabbitMQ has one queue, were " + request.addresses(), null);
    }
    Address address = request.addresses().get(0);
    if (address.kind() != Address.Kind.QUEUE) {
      throw new MessagingException(
          Kind.INVALID, "RabbitMQ consumes from a queue: " + address + " is none", null);
    }
    String refusal = PublishChannel.refusal(address);
    if (refusal != null) {
      throw new MessagingException(Kind.INVALID, refusal, null);
    }
    return new ReceiveOpening(consuming, request, listener).await();
  }

  @Override
  public void close(Duration timeout) {
    Thread beside = Threads.start("floatvalve-rabbit-close", () -> consuming.close(timeout));
    publishing.close(timeout);
    Threads.join(beside, timeout);
  }

  @Override
  public String toString() {
    return "RabbitBroker[" + describe() + "]";
  }

  /**
   * Who we are to the broker. Neither is null; lengths are in UTF-8.
   *
   * @param username at most 255 bytes
   * @param password or a token: at most 7,000 bytes. Brokers before RabbitMQ 4.0 take no more than
   *     about 3,000, and close the connection on a longer one
   */
  public record Credentials(String username, String password) {
    /** What every broker has room for, beside the longest of all else that goes along. */
    static final int PASSWORD_OF_ANY_BROKER = 3_000;

    private static final int LONGEST_PASSWORD = 7_000;

    /**
     * Holds both.
     *
     * @throws IllegalArgumentException if one is longer
     */
    public Credentials {
      atMost("username", Objects.requireNonNull(username, "username"), Limits.SHORT_STRING);
      atMost("password", Objects.requireNonNull(password, "password"), LONGEST_PASSWORD);
    }

    private static void atMost(String name, String secret, int most) {
      long bytes = Limits.utf8Bytes(secret);
      if (bytes > most) {
        throw new IllegalArgumentException(
            name + " must be at most " + most + " bytes in UTF-8, has " + bytes);
      }
    }

    /** Names the user alone. */
    @Override
    public String toString() {
      return "Credentials[" + username + "]";
    }
  }

  /**
   * Where and how to connect. Immutable; each {@code with} method returns a changed copy.
   *
   * <p>Values out of range are refused with an {@link IllegalArgumentException} that gives the
   * range and the value; a password is never shown.
   */
  public static final class Settings {
    private static final String GUEST = "guest";

    private final List<Endpoint> endpoints;
    private final String virtualHost;
    private final Supplier<Credentials> credentials;
    private final @Nullable SSLContext sslContext;
    private final boolean hostNameVerification;
    private final Duration connectTimeout;
    private final Duration heartbeat;
    private final Duration rpcTimeout;
    private final String connectionName;

    private Settings(Values v) {
      endpoints = List.copyOf(v.endpoints);
      virtualHost = shortString("virtualHost", v.virtualHost);
      credentials = Objects.requireNonNull(v.credentials, "credentials");
      sslContext = v.sslContext;
      hostNameVerification = v.hostNameVerification;
      connectTimeout =
          within("connectTimeout", v.connectTimeout, Duration.ofMillis(1), Duration.ofHours(1));
      heartbeat = within("heartbeat", v.heartbeat, Duration.ofSeconds(1), Duration.ofHours(1));
      rpcTimeout = within("rpcTimeout", v.rpcTimeout, Duration.ofMillis(1), Duration.ofHours(1));
      connectionName = shortString("connectionName", v.connectionName);
      if (!heartbeat.equals(Duration.ofSeconds(heartbeat.toSeconds()))) {
        throw new IllegalArgumentException("heartbeat must be in whole seconds, was " + heartbeat);
      }
      if (sslContext != null && endpoints.stream().noneMatch(Endpoint::tls)) {
        throw new IllegalArgumentException(
            "sslContext needs an address that begins with amqps://, addresses were " + where());
      }
    }

    /**
     * Returns settings for these addresses, with the default of everything else.
     *
     * <p>An address is {@code amqp://user:password@host:port/vhost}, percent-encoded, or {@code
     * amqps://…} for TLS. Only the host is needed: the port is 5672, or 5671 with TLS. User,
     * password and virtual host hold for all addresses and may be set otherwise below; a path of
     * {@code /} alone says nothing.
     *
     * @param uri of a node
     * @param more nodes of the same cluster, tried in this order when the one before cannot be had
     * @throws IllegalArgumentException if one is no such URI, or two of them contradict each other
     */
    public static Settings at(String uri, String... more) {
      List<Endpoint.Parsed> parsed = new ArrayList<>();
      parsed.add(Endpoint.parse(Objects.requireNonNull(uri, "uri")));
      for (String other : more) {
        parsed.add(Endpoint.parse(Objects.requireNonNull(other, "more")));
      }
      Values v = new Values();
      v.endpoints = parsed.stream().map(Endpoint.Parsed::endpoint).toList();
      String virtualHost = null;
      Credentials who = null;
      for (Endpoint.Parsed p : parsed) {
        if (virtualHost == null) {
          virtualHost = p.virtualHost();
        } else if (p.virtualHost() != null && !virtualHost.equals(p.virtualHost())) {
          throw new IllegalArgumentException(
              "addresses must name the same virtual host, were '"
                  + virtualHost
                  + "' and '"
                  + p.virtualHost()
                  + "'");
        }
        String username = p.username();
        if (username != null) {
          String password = p.password();
          Credentials its = new Credentials(username, password == null ? GUEST : password);
          if (who != null && !who.equals(its)) {
            throw new IllegalArgumentException(
                "addresses must name the same user and password, or only one of them any");
          }
          who = its;
        }
      }
      if (virtualHost != null) {
        v.virtualHost = virtualHost;
      }
      if (who != null) {
        Credentials known = who;
        v.credentials = () -> known;
      }
      return new Settings(v);
    }

    List<Endpoint> endpoints() {
      return endpoints;
    }

    /** Returns all hosts and ports, in order. */
    String where() {
      return endpoints.stream().map(Endpoint::toString).collect(Collectors.joining(", "));
    }

    Wire wire(Endpoint endpoint) {
      if (!endpoint.tls()) {
        return new Wire(null, false);
      }
      try {
        return new Wire(
            sslContext == null ? SSLContext.getDefault() : sslContext, hostNameVerification);
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("this JVM's default trust store cannot be used", e);
      }
    }

    Credentials credentials() {
      return Objects.requireNonNull(credentials.get(), "the supplier of credentials gave null");
    }

    /** Returns the virtual host. */
    public String virtualHost() {
      return virtualHost;
    }

    /**
     * Sets the virtual host.
     *
     * @param virtualHost at most 255 bytes; {@code /} by default
     * @throws IllegalArgumentException if it is longer
     */
    public Settings withVirtualHost(String virtualHost) {
      Values v = values();
      v.virtualHost = virtualHost;
      return new Settings(v);
    }

    /**
     * Sets who we are; {@code guest} with password {@code guest} by default.
     *
     * @throws IllegalArgumentException if one is longer than {@link Credentials} take
     */
    public Settings withCredentials(String username, String password) {
      Credentials fixed = new Credentials(username, password);
      return withCredentialsFrom(() -> fixed);
    }

    /**
     * Sets who says who we are; asked again for each connection, so that a password can change.
     *
     * @param credentials called on a thread of ours, which opens a connection. What it throws ends
     *     that attempt
     */
    public Settings withCredentialsFrom(Supplier<Credentials> credentials) {
      Values v = values();
      v.credentials = credentials;
      return new Settings(v);
    }

    /**
     * Sets whom to trust, and which certificate to show, at addresses that begin with {@code
     * amqps://}.
     *
     * @param sslContext null, the default, for the JVM's own
     * @throws IllegalArgumentException if no address is of TLS
     */
    public Settings withSslContext(@Nullable SSLContext sslContext) {
      Values v = values();
      v.sslContext = sslContext;
      return new Settings(v);
    }

    /** Returns whether a certificate must name the host of its address. */
    public boolean hostNameVerification() {
      return hostNameVerification;
    }

    /**
     * Sets whether a certificate must name the host of its address; true by default. Without it
     * anybody with a trusted certificate of any host can stand between us and the broker.
     */
    public Settings withHostNameVerification(boolean hostNameVerification) {
      Values v = values();
      v.hostNameVerification = hostNameVerification;
      return new Settings(v);
    }

    /** Returns how long an address may take to accept a TCP connection, and then TLS. */
    public Duration connectTimeout() {
      return connectTimeout;
    }

    /**
     * Sets how long an address may take to accept a TCP connection, and as long again for TLS.
     *
     * <p>Then the next address is tried. Lower it where several are given and dead hosts answer
     * nothing.
     *
     * @param connectTimeout from 1 ms to 1 hour; 5 s by default
     * @throws IllegalArgumentException if out of range
     */
    public Settings withConnectTimeout(Duration connectTimeout) {
      Values v = values();
      v.connectTimeout = connectTimeout;
      return new Settings(v);
    }

    /** Returns at which interval each side shows that it is alive. */
    public Duration heartbeat() {
      return heartbeat;
    }

    /**
     * Sets at which interval each side shows that it is alive; the broker may want a shorter one.
     *
     * <p>A connection without a sign of the other for twice as long is lost. Lower it to notice a
     * dead network sooner; below 5 s, a pause of either side passes for one.
     *
     * @param heartbeat from 1 s to 1 hour, in whole seconds; 30 s by default
     * @throws IllegalArgumentException if out of range
     */
    public Settings withHeartbeat(Duration heartbeat) {
      Values v = values();
      v.heartbeat = heartbeat;
      return new Settings(v);
    }

    /** Returns how long the broker may take to answer a request, such as to open a channel. */
    public Duration rpcTimeout() {
      return rpcTimeout;
    }

    /**
     * Sets how long the broker may take to answer a request, such as to open a channel. Confirms
     * have a timeout of their own, the publisher's.
     *
     * @param rpcTimeout from 1 ms to 1 hour; 10 s by default
     * @throws IllegalArgumentException if out of range
     */
    public Settings withRpcTimeout(Duration rpcTimeout) {
      Values v = values();
      v.rpcTimeout = rpcTimeout;
      return new Settings(v);
    }

    /** Returns how the broker lists our connections. */
    public String connectionName() {
      return connectionName;
    }

    /**
     * Sets how the broker lists our connections, with what they are for after it.
     *
     * @param connectionName at most 255 bytes; {@code floatvalve} by default
     * @throws IllegalArgumentException if it is longer
     */
    public Settings withConnectionName(String connectionName) {
      Values v = values();
      v.connectionName = connectionName;
      return new Settings(v);
    }

    private Values values() {
      Values v = new Values();
      v.endpoints = endpoints;
      v.virtualHost = virtualHost;
      v.credentials = credentials;
      v.sslContext = sslContext;
      v.hostNameVerification = hostNameVerification;
      v.connectTimeout = connectTimeout;
      v.heartbeat = heartbeat;
      v.rpcTimeout = rpcTimeout;
      v.connectionName = connectionName;
      return v;
    }

    private static String shortString(String name, String value) {
      String refusal = Limits.shortString(name, Objects.requireNonNull(value, name));
      if (refusal != null) {
        throw new IllegalArgumentException(refusal);
      }
      return value;
    }

    /** Names neither user nor password. */
    @Override
    public String toString() {
      return "Settings[at " + where() + ", virtual host '" + virtualHost + "']";
    }

    /** What the one constructor checks; holds the defaults. */
    private static final class Values {
      private List<Endpoint> endpoints = List.of();
      private String virtualHost = "/";
      private Supplier<Credentials> credentials = () -> new Credentials(GUEST, GUEST);
      private @Nullable SSLContext sslContext;
      private boolean hostNameVerification = true;
      private Duration connectTimeout = Duration.ofSeconds(5);
      private Duration heartbeat = Duration.ofSeconds(30);
      private Duration rpcTimeout = Duration.ofSeconds(10);
      private String connectionName = "floatvalve";
    }
  }

  /**
   * What only RabbitMQ has, of a publisher: given by {@code PublisherSettings.withNative}.
   * Immutable.
   */
  public static final class PublishSettings {
    private static final PublishSettings DEFAULTS = new PublishSettings(false);

    private final boolean delayed;

    private PublishSettings(boolean delayed) {
      this.delayed = delayed;
    }

    /** Returns the default of everything. */
    public static PublishSettings defaults() {
      return DEFAULTS;
    }

    /** Returns whether the publisher's exchange is one that delays. */
    public boolean delayedExchange() {
      return delayed;
    }

    /**
     * Sets whether the publisher's exchange is one of the delayed-message plugin; false by default.
     *
     * <p>Only to such an exchange a message with a delay is sent, with its milliseconds in the
     * header {@code x-delay}; elsewhere it is refused, since it would be delivered at once. The
     * exchange returns each such message as unroutable and delivers it later all the same, so that
     * return is no failure, and a real one cannot be told from it.
     *
     * @see <a href="https://github.com/rabbitmq/rabbitmq-delayed-message-exchange">the plugin</a>
     */
    public PublishSettings withDelayedExchange(boolean delayed) {
      return new PublishSettings(delayed);
    }

    private @Nullable String delayedExchange(Address address) {
      if (!delayed) {
        return null;
      }
      String exchange = PublishChannel.exchange(address);
      if (exchange.isEmpty()) {
        throw new MessagingException(
            Kind.INVALID,
            "withDelayedExchange needs the address of an exchange, was " + address,
            null);
      }
      return exchange;
    }

    @Override
    public String toString() {
      return "PublishSettings[delayed exchange " + delayed + "]";
    }
  }
}
