package io.floatvalve.rabbit;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.explain.BrokerViews;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.AdminHttp;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import java.nio.charset.StandardCharsets;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * RabbitMQ, by AMQP 0-9-1.
 *
 * <p>Messages carry two headers of Floatvalve's own: {@code x-floatvalve-key} with the ordering
 * key, if there is one, and, on mandatory messages, {@code x-floatvalve-send}, eight bytes by which
 * a return finds its message. An application's headers of these names are not sent, and a consumer
 * is shown none that begin with {@code x-floatvalve-}.
 *
 * <p>All publishers share one connection, with a channel each, and all consumers another. For a
 * publisher nothing is declared: queues and exchanges are there or not. For a consumer without an
 * order the queues are declared in which messages wait to be tried again, unless {@link
 * ConsumeSettings#withRetryQueues} says otherwise; and what {@link ConsumeSettings#withTopology}
 * names.
 *
 * <p>Thread-safe. Given to {@code Messaging.over}, which closes it.
 */
@SuppressWarnings("JavaUtilDate") // the client's type for AMQP's timestamps
public final class RabbitBroker implements Broker {
  private static final Logger LOG = LoggerFactory.getLogger(RabbitBroker.class);

  /*
   * One connection a direction: a consumer that does not keep up stops the reader of its connection,
   * and a broker that throttles a publisher reads no acknowledgements from the same connection.
   */
  private final SharedTrunk publishing;
  private final SharedTrunk consuming;

  private RabbitBroker(Settings settings) {
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
    if (!settings.hostNameVerification) {
      LOG.warn(
          "certificates of {} need not name their host: whoever holds a trusted one can be the broker",
          settings.where());
    }
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
    String delayedExchange =
        nativeSettings(request.nativeSettings(), PublishSettings.defaults())
            .delayedExchange(request.address());
    Answers answers = new Answers(listener, request.epoch(), delayedExchange);
    return new PublishOpening(publishing, request, answers, delayedExchange).await();
  }

  private static <S> S nativeSettings(@Nullable Object given, S defaults) {
    if (given == null) {
      return defaults;
    }
    Class<?> wanted = defaults.getClass();
    if (wanted.isInstance(given)) {
      @SuppressWarnings("unchecked") // the classes are final
      S settings = (S) given;
      return settings;
    }
    throw new MessagingException(
        Kind.INVALID,
        "the native settings for RabbitMQ are a "
            + wanted.getCanonicalName()
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
    ConsumeSettings own = nativeSettings(request.nativeSettings(), ConsumeSettings.defaults());
    Address deadLetter = request.deadLetter();
    refusal = deadLetter == null ? null : PublishChannel.refusal(deadLetter);
    if (refusal != null) {
      throw new MessagingException(Kind.INVALID, "dead letters: " + refusal, null);
    }
    return new ReceiveOpening(consuming, publishing, request, own, listener).await();
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
    private final int maxInboundBytes;
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
      maxInboundBytes = within("maxInboundBytes", v.maxInboundBytes, 1 << 16, 1 << 30);
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
      return new Wire(tls(), hostNameVerification);
    }

    SSLContext tls() {
      try {
        return sslContext == null ? SSLContext.getDefault() : sslContext;
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

    /** Returns how large a message that the broker sends may be. */
    public int maxInboundBytes() {
      return maxInboundBytes;
    }

    /**
     * Sets how large a message that the broker sends may be: one that is delivered, or returned.
     *
     * <p>It bounds what a peer that is no broker, or not a sound one, can make us hold at a time. A
     * connection on which something larger comes is given up. A message that is in a queue comes
     * again then: let this be as much as the broker's own {@code max_message_size} at least.
     *
     * @param maxInboundBytes from 64 KiB to 1 GiB, without properties; 128 MiB by default, the most
     *     that a broker takes unless it is configured otherwise
     * @throws IllegalArgumentException if out of range
     */
    public Settings withMaxInboundBytes(int maxInboundBytes) {
      Values v = values();
      v.maxInboundBytes = maxInboundBytes;
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
      v.maxInboundBytes = maxInboundBytes;
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
      private int maxInboundBytes = 128 << 20;
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

  /**
   * What only RabbitMQ has, of a consumer: given by {@code ConsumerSettings.withNative}. Immutable;
   * each {@code with} method returns a changed copy.
   *
   * <p>Values out of range are refused with an {@link IllegalArgumentException} that gives the
   * range and the value.
   */
  public static final class ConsumeSettings {
    private final @Nullable Topology topology;
    private final int priority;
    private final boolean exclusive;
    private final Map<String, Object> arguments;
    private final @Nullable StreamOffset streamOffset;
    private final Duration acknowledgementDelay;
    private final boolean retryQueues;
    private final Map<String, Object> retryQueueArguments;

    private ConsumeSettings(Choices v) {
      topology = v.topology;
      priority = v.priority;
      exclusive = v.exclusive;
      arguments = checked("argument", v.arguments);
      streamOffset = v.streamOffset;
      acknowledgementDelay =
          within(
              "acknowledgementDelay",
              v.acknowledgementDelay,
              Duration.ofMillis(1),
              Duration.ofMinutes(1));
      retryQueues = v.retryQueues;
      retryQueueArguments = checked("argument", v.retryQueueArguments);
    }

    private static Map<String, Object> checked(String what, Map<String, Object> table) {
      Map<String, Object> copy = Map.copyOf(table);
      String refusal = Limits.table(what, copy);
      if (refusal != null) {
        throw new IllegalArgumentException(refusal);
      }
      return copy;
    }

    /** Returns the default of everything. */
    public static ConsumeSettings defaults() {
      return new ConsumeSettings(new Choices());
    }

    @Nullable Topology topology() {
      return topology;
    }

    /**
     * Sets what is declared each time before the queue is consumed from.
     *
     * <p>What exists as declared is left as it is. What exists otherwise is never changed: opening
     * the consumer fails with {@code CONFLICT} and the broker's words on the difference.
     *
     * @param topology null, the default, for nothing: the queue is there or not
     */
    public ConsumeSettings withTopology(@Nullable Topology topology) {
      Choices v = values();
      v.topology = topology;
      return new ConsumeSettings(v);
    }

    int priority() {
      return priority;
    }

    /**
     * Sets the rank among the consumers of the queue: one with a higher number is served first, as
     * long as it can take messages.
     *
     * @param priority 0 by default
     */
    public ConsumeSettings withPriority(int priority) {
      Choices v = values();
      v.priority = priority;
      return new ConsumeSettings(v);
    }

    boolean exclusive() {
      return exclusive;
    }

    /**
     * Sets whether no other consumer may have the queue at the same time; false by default. Where
     * there is one already, opening is tried again with back-off. The prefetch is fixed then, since
     * changing it takes a second consumer for a moment.
     */
    public ConsumeSettings withExclusive(boolean exclusive) {
      Choices v = values();
      v.exclusive = exclusive;
      return new ConsumeSettings(v);
    }

    Map<String, Object> arguments() {
      return arguments;
    }

    /**
     * Sets further arguments of the consumer.
     *
     * @param arguments with values of the types that headers may have; none by default
     */
    public ConsumeSettings withArguments(Map<String, Object> arguments) {
      Choices v = values();
      v.arguments = arguments;
      return new ConsumeSettings(v);
    }

    @Nullable StreamOffset streamOffset() {
      return streamOffset;
    }

    /**
     * Says that the queue is a stream, and where to begin in it.
     *
     * <p>Retries are in place, and a rejected message is gone over unless there is an address for
     * dead letters. After a lost connection it goes on behind what was acknowledged without a gap;
     * what was acknowledged beyond comes again. A stream has no memory of a consumer that ended:
     * the application keeps the header {@code x-stream-offset}, if it must.
     *
     * @param streamOffset null, the default, for a queue that is no stream
     */
    public ConsumeSettings withStreamOffset(@Nullable StreamOffset streamOffset) {
      Choices v = values();
      v.streamOffset = streamOffset;
      return new ConsumeSettings(v);
    }

    Duration acknowledgementDelay() {
      return acknowledgementDelay;
    }

    /**
     * Sets how long an acknowledgement may be kept back to be told together with others. It is told
     * earlier when enough have come together, or when the broker could send no more without it.
     *
     * @param delay from 1 ms to 1 min; 20 ms by default. As much comes again when the process dies
     */
    public ConsumeSettings withAcknowledgementDelay(Duration delay) {
      Choices v = values();
      v.acknowledgementDelay = delay;
      return new ConsumeSettings(v);
    }

    boolean retryQueues() {
      return retryQueues;
    }

    /**
     * Sets whether messages that are to be tried again wait in queues of their own at the broker,
     * one for each of the consumer's {@code retryDelays}, named {@code QUEUE.retry.200ms} and so on
     * and declared when the consumer is opened. Else, and with an order, they wait here,
     * unacknowledged. Where the broker does not let this user declare them, they wait here, too,
     * and an event says so.
     *
     * @param retryQueues true by default
     */
    public ConsumeSettings withRetryQueues(boolean retryQueues) {
      Choices v = values();
      v.retryQueues = retryQueues;
      return new ConsumeSettings(v);
    }

    Map<String, Object> retryQueueArguments() {
      return retryQueueArguments;
    }

    /**
     * Sets further arguments of these queues, such as {@code x-queue-type}.
     *
     * @param arguments none by default: classic queues
     */
    public ConsumeSettings withRetryQueueArguments(Map<String, Object> arguments) {
      Choices v = values();
      v.retryQueueArguments = arguments;
      return new ConsumeSettings(v);
    }

    private Choices values() {
      Choices v = new Choices();
      v.topology = topology;
      v.priority = priority;
      v.exclusive = exclusive;
      v.arguments = arguments;
      v.streamOffset = streamOffset;
      v.acknowledgementDelay = acknowledgementDelay;
      v.retryQueues = retryQueues;
      v.retryQueueArguments = retryQueueArguments;
      return v;
    }

    @Override
    public String toString() {
      return "ConsumeSettings["
          + (topology == null ? "" : topology + ", ")
          + "priority "
          + priority
          + (exclusive ? ", exclusive" : "")
          + (streamOffset == null ? "" : ", stream from " + streamOffset)
          + "]";
    }

    /** What the one constructor checks; holds the defaults. */
    private static final class Choices {
      private @Nullable Topology topology;
      private int priority;
      private boolean exclusive;
      private Map<String, Object> arguments = Map.of();
      private @Nullable StreamOffset streamOffset;
      private Duration acknowledgementDelay = Duration.ofMillis(20);
      private boolean retryQueues = true;
      private Map<String, Object> retryQueueArguments = Map.of();
    }
  }

  /** Where a consumer begins in a stream. Immutable. */
  public static final class StreamOffset {
    private final Object value;

    private StreamOffset(Object value) {
      this.value = value;
    }

    /** The oldest message that is kept. */
    public static StreamOffset first() {
      return new StreamOffset("first");
    }

    /** The last chunk of messages that was written. */
    public static StreamOffset last() {
      return new StreamOffset("last");
    }

    /** What is published from now on. */
    public static StreamOffset next() {
      return new StreamOffset("next");
    }

    /**
     * The message with this number, as in its header {@code x-stream-offset}.
     *
     * @param offset from 0
     */
    public static StreamOffset at(long offset) {
      if (offset < 0) {
        throw new IllegalArgumentException("offset must be at least 0, was " + offset);
      }
      return new StreamOffset(offset);
    }

    /** The first message that was published at this time or later, to a chunk. */
    public static StreamOffset since(Instant time) {
      return new StreamOffset(Date.from(time));
    }

    Object value() {
      return value;
    }

    @Override
    public String toString() {
      return value.toString();
    }
  }

  /**
   * A queue to be declared, with its exchange and bindings. Immutable; each {@code with} method
   * returns a changed copy.
   */
  public static final class Topology {
    /** A way for messages into the queue. */
    record Binding(String exchange, @Nullable String type, String routingKey) {}

    private final boolean exclusive;
    private final Map<String, Object> arguments;
    private final List<Binding> bindings;

    private Topology(boolean exclusive, Map<String, Object> arguments, List<Binding> bindings) {
      this.exclusive = exclusive;
      this.arguments = ConsumeSettings.checked("argument", arguments);
      this.bindings = List.copyOf(bindings);
    }

    /** A durable classic queue. */
    public static Topology classic() {
      return new Topology(false, Map.of("x-queue-type", "classic"), List.of());
    }

    /** A quorum queue: replicated, it counts deliveries. */
    public static Topology quorum() {
      return new Topology(false, Map.of("x-queue-type", "quorum"), List.of());
    }

    /** A stream: messages stay when they were consumed. */
    public static Topology stream() {
      return new Topology(false, Map.of("x-queue-type", "stream"), List.of());
    }

    /**
     * A classic queue of this connection's own that goes with it. While a connection that was lost
     * is not yet known as such to the broker, the queue is locked, and opening is tried again.
     */
    public static Topology exclusive() {
      return new Topology(true, Map.of(), List.of());
    }

    /** Adds arguments, such as {@code x-single-active-consumer} or {@code x-message-ttl}. */
    public Topology withArguments(Map<String, Object> more) {
      Map<String, Object> all = new HashMap<>(arguments);
      all.putAll(more);
      return new Topology(exclusive, all, bindings);
    }

    /** Adds a binding to an exchange that is there. */
    public Topology withBinding(String exchange, String routingKey) {
      return with(new Binding(exchange, null, routingKey));
    }

    /**
     * Adds a binding to a durable exchange that is declared as well.
     *
     * @param type such as {@code direct}, {@code topic} or {@code fanout}
     */
    public Topology withBinding(String exchange, String type, String routingKey) {
      return with(new Binding(exchange, Objects.requireNonNull(type, "type"), routingKey));
    }

    private Topology with(Binding binding) {
      for (String each : List.of(binding.exchange(), binding.routingKey())) {
        String refusal = Limits.shortString("name or key of a binding", each);
        if (refusal != null) {
          throw new IllegalArgumentException(refusal);
        }
      }
      List<Binding> all = new ArrayList<>(bindings);
      all.add(binding);
      return new Topology(exclusive, arguments, all);
    }

    boolean isExclusive() {
      return exclusive;
    }

    Map<String, Object> arguments() {
      return arguments;
    }

    List<Binding> bindings() {
      return bindings;
    }

    @Override
    public String toString() {
      return "Topology["
          + (exclusive ? "exclusive, " : "")
          + new TreeMap<>(arguments)
          + ", "
          + bindings
          + "]";
    }
  }

  /**
   * Where RabbitMQ's management interface is, for what only the broker knows: backlog, who shares a
   * queue, alarms. Needs its plugin {@code rabbitmq_management}. Optional; never asked on the way
   * of a message. Immutable; each {@code with} method returns a changed copy.
   */
  public static final class Management {
    private static final String GUEST = "guest";

    private final String url;
    private final Supplier<Credentials> credentials;
    private final String virtualHost;
    private final Duration timeout;
    private final Duration interval;

    private Management(
        String url,
        Supplier<Credentials> credentials,
        String virtualHost,
        Duration timeout,
        Duration interval) {
      this.url = Objects.requireNonNull(url, "url");
      this.credentials = Objects.requireNonNull(credentials, "credentials");
      this.virtualHost = Objects.requireNonNull(virtualHost, "virtualHost");
      this.timeout = within("timeout", timeout, Duration.ofMillis(1), Duration.ofMinutes(1));
      this.interval = within("interval", interval, Duration.ofMillis(100), Duration.ofHours(1));
      Object unused = http();
    }

    /**
     * Returns one for the user guest and the virtual host {@code /}.
     *
     * @param url {@code http://host:port} or {@code https://…}
     * @throws IllegalArgumentException if it is no such address, or holds a user or password
     */
    public static Management at(String url) {
      Credentials guest = new Credentials(GUEST, GUEST);
      return new Management(url, () -> guest, "/", Duration.ofSeconds(3), Duration.ofSeconds(2));
    }

    /**
     * Sets what gives user and password for each request; they are never shown. The user needs the
     * tag {@code management}, and {@code monitoring} for alarms to be seen.
     *
     * @param credentials guest and guest by default
     */
    public Management withCredentials(Supplier<Credentials> credentials) {
      return new Management(url, credentials, virtualHost, timeout, interval);
    }

    /**
     * Sets the virtual host.
     *
     * @param virtualHost {@code /} by default
     */
    public Management withVirtualHost(String virtualHost) {
      return new Management(url, credentials, virtualHost, timeout, interval);
    }

    /**
     * Sets how long an answer may take.
     *
     * @param timeout from 1 ms to 1 minute; 3 seconds by default
     */
    public Management withTimeout(Duration timeout) {
      return new Management(url, credentials, virtualHost, timeout, interval);
    }

    /**
     * Sets how often a queue is asked after at most, while somebody wants to know. The broker's own
     * figures are some 5 seconds old at times. What is four times as old is not told any more.
     *
     * @param interval from 100 ms to 1 hour; 2 seconds by default
     */
    public Management withInterval(Duration interval) {
      return new Management(url, credentials, virtualHost, timeout, interval);
    }

    /** Returns what the broker says, as it was heard last. It has no thread; nothing to close. */
    public BrokerViews views() {
      return new ManagementViews(http(), virtualHost, interval);
    }

    private AdminHttp http() {
      return new AdminHttp(
          url,
          () -> {
            Credentials who = credentials.get();
            String both = who.username() + ":" + who.password();
            return "Basic "
                + Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8));
          },
          timeout,
          null);
    }

    @Override
    public String toString() {
      return "Management[" + url + ", virtual host " + virtualHost + "]";
    }
  }
}
