package io.floatvalve.pulsar;

import static io.floatvalve.spi.Bounds.within;

import io.floatvalve.explain.BrokerViews;
import io.floatvalve.model.Address;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.MessagingException.Kind;
import io.floatvalve.spi.AdminHttp;
import io.floatvalve.spi.Broker;
import io.floatvalve.spi.PublishLink;
import io.floatvalve.spi.ReceiveLink;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.pulsar.client.api.Authentication;
import org.apache.pulsar.client.api.AuthenticationFactory;
import org.apache.pulsar.client.api.BatcherBuilder;
import org.apache.pulsar.client.api.ClientBuilder;
import org.apache.pulsar.client.api.CompressionType;
import org.apache.pulsar.client.api.HashingScheme;
import org.apache.pulsar.client.api.MessageRoutingMode;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.ProducerAccessMode;
import org.apache.pulsar.client.api.ProducerBuilder;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.SizeUnit;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Apache Pulsar.
 *
 * <p>Properties whose names begin with {@code floatvalve-} are Floatvalve's own: the types of
 * headers that are not text, what Pulsar has no field for (content type, message id, correlation
 * id, reply address), and on copies how often, why and when handling failed. Consumers share one
 * client and its connections, publishers and copies another.
 *
 * <p>Messages to be handled again wait in a topic of the subscription's, {@code
 * TOPIC-SUBSCRIPTION-RETRY}, and dead letters go to {@code TOPIC-SUBSCRIPTION-DLQ} unless told
 * otherwise; both are made when first needed. A character of the subscription's name that has a
 * meaning in a topic's is written as {@code =} and its code.
 *
 * <p>Thread-safe. Given to {@code Messaging.over}, which closes it.
 */
public final class PulsarBroker implements Broker {
  private static final Logger LOG = LoggerFactory.getLogger(PulsarBroker.class);
  private static final long PRIME_STEP_NANOS = TimeUnit.MICROSECONDS.toNanos(100);
  private static final Duration PRIME_MOST = Duration.ofSeconds(1);

  private final Settings settings;
  private final ScheduledExecutorService ticker;
  private final boolean bridged;
  private final Greeting greeting;
  private @Nullable PulsarClient consuming; // guarded by this
  private @Nullable PulsarClient producing; // guarded by this
  private boolean closed; // guarded by this

  private PulsarBroker(Settings settings, boolean bridged) {
    this.settings = settings;
    this.bridged = bridged;
    this.greeting = new Greeting(settings);
    this.ticker =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "floatvalve-pulsar-ticker");
              thread.setDaemon(true);
              return thread;
            });
  }

  /**
   * Takes a broker by its address, with the default of everything else. Returns at once: whatever
   * is opened first connects.
   *
   * @param serviceUrl {@code pulsar://host:port} or {@code pulsar+ssl://host:port}, several hosts
   *     separated by commas
   * @throws IllegalArgumentException if it is no such address
   */
  public static PulsarBroker connect(String serviceUrl) {
    return connect(Settings.at(serviceUrl));
  }

  /** Takes a broker. Returns at once: whatever is opened first connects. */
  public static PulsarBroker connect(Settings settings) {
    if (settings.isTls() && !settings.hostNameVerification()) {
      LOG.warn(
          "certificates of {} need not name their host: whoever holds a trusted one can be the broker",
          settings.where());
    }
    return new PulsarBroker(Objects.requireNonNull(settings, "settings"), PermitBridge.links());
  }

  /** Takes a broker and does without resizing, as with a client whose queues cannot be resized. */
  static PulsarBroker connectUnbridged(Settings settings) {
    return new PulsarBroker(settings, false);
  }

  @Override
  public String describe() {
    return "Pulsar at " + settings.where();
  }

  /**
   * Opens a producer to the one topic of the request's address; messages that name another are
   * refused.
   *
   * <p>A message's key becomes Pulsar's, its headers properties and its timestamp the event time. A
   * delay is told to the broker if it is at least a millisecond. A time to live is refused: Pulsar
   * has it of topics only. The priority travels as a property, but nothing is delivered earlier for
   * it. {@code persistent} and {@code mandatory} mean nothing here: a topic's name says whether it
   * keeps its messages, and it always exists.
   *
   * <p>A connection that is lost is made again by the client, which sends again what has no answer;
   * what the broker has stored already may then be stored twice, unless it drops duplicates.
   */
  @Override
  public PublishLink openPublish(PublishRequest request, PublishLink.Listener listener) {
    long deadline = System.nanoTime() + request.timeout().toNanos();
    try {
      greeting.checkToken();
      PublishSettings publish = nativeSettings(request);
      if (request.address().kind() != Address.Kind.TOPIC) {
        throw new MessagingException(Kind.INVALID, "messages go to topics only", null);
      }
      Routing routing = publish.routes();
      CompletableFuture<Producer<byte[]>> opening =
          publish
              .producer(producer().newProducer(), routing)
              .topic(TopicNames.full(request.address().name()))
              .createAsync();
      Producer<byte[]> producer;
      try {
        producer = greeting.await(opening, deadline);
      } catch (ExecutionException | TimeoutException | InterruptedException e) {
        var unused = opening.thenCompose(Producer::closeAsync); // should it come about later
        throw e;
      }
      return new ProducerLink(producer, publish, routing, listener, ticker);
    } catch (Exception e) {
      throw failure("publish to " + request.address(), request.timeout(), e);
    }
  }

  private static PublishSettings nativeSettings(PublishRequest request) {
    Object given = request.nativeSettings();
    if (given == null) {
      return PublishSettings.defaults();
    }
    if (given instanceof PublishSettings publish) {
      return publish;
    }
    throw new MessagingException(
        Kind.INVALID,
        "the native settings for publishing to Pulsar are a "
            + PublishSettings.class.getCanonicalName()
            + ", were a "
            + given.getClass().getName(),
        null);
  }

  @Override
  public ReceiveLink openReceive(ReceiveRequest request, ReceiveLink.Listener listener) {
    long deadline = System.nanoTime() + request.timeout().toNanos();
    PulsarLink link = null;
    try {
      greeting.checkToken();
      ConsumeSettings consume = nativeSettings(request);
      Subscription subscription = Subscription.of(consumer(), ticker, request, consume, bridged);
      List<String> topics = greeting.await(subscription.topics(true, true), deadline);
      Copies copies = new Copies(producer(), request.timeout());
      link = new PulsarLink(subscription, listener, ticker, copies);
      await(link.open(topics), deadline);
      awaitPrimed(link);
      link.start();
      return link;
    } catch (Exception e) {
      if (link != null) {
        link.close(Duration.ZERO);
      }
      String from =
          request.addresses().stream().map(Object::toString).collect(Collectors.joining(", "));
      throw failure("consume from " + from, request.timeout(), e);
    }
  }

  private static ConsumeSettings nativeSettings(ReceiveRequest request) {
    Object given = request.nativeSettings();
    if (given == null) {
      return ConsumeSettings.defaults();
    }
    if (given instanceof ConsumeSettings consume) {
      return consume;
    }
    throw new MessagingException(
        Kind.INVALID,
        "the native settings for consuming from Pulsar are a "
            + ConsumeSettings.class.getCanonicalName()
            + ", were a "
            + given.getClass().getName(),
        null);
  }

  private static <T> T await(CompletableFuture<T> future, long deadline)
      throws ExecutionException, TimeoutException, InterruptedException {
    return future.get(Math.max(1, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
  }

  /** The permits are added just after the subscription is said to be there. */
  private static void awaitPrimed(PulsarLink link) {
    long deadline = System.nanoTime() + PRIME_MOST.toNanos();
    while (!link.prime() && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(PRIME_STEP_NANOS);
    }
  }

  private MessagingException failure(String doing, Duration timeout, Exception e) {
    String what = "cannot " + doing + " of " + describe() + ": ";
    if (e instanceof InterruptedException) {
      Thread.currentThread().interrupt();
      return new MessagingException(Kind.UNREACHABLE, what + "interrupted while waiting", e);
    }
    if (e instanceof TimeoutException) {
      return new MessagingException(Kind.UNREACHABLE, what + "no answer within " + timeout, e);
    }
    Throwable cause = Failures.cause(e);
    if (cause instanceof MessagingException known) {
      return new MessagingException(known.kind(), what + known.getMessage(), known.getCause());
    }
    return new MessagingException(Failures.opening(cause), what + Failures.words(cause), cause);
  }

  /** Returns what looks after links, on one thread. */
  ScheduledExecutorService ticker() {
    return ticker;
  }

  private synchronized PulsarClient consumer() throws PulsarClientException {
    if (closed) {
      throw new MessagingException(Kind.CLOSED, "closed", null);
    }
    PulsarClient known = consuming;
    if (known == null) {
      known = settings.client().build();
      consuming = known;
    }
    return known;
  }

  private synchronized PulsarClient producer() throws PulsarClientException {
    if (closed) {
      throw new MessagingException(Kind.CLOSED, "closed", null);
    }
    PulsarClient known = producing;
    if (known == null) {
      known = settings.producingClient();
      producing = known;
    }
    return known;
  }

  @Override
  public void close(Duration timeout) {
    List<PulsarClient> open;
    synchronized (this) {
      if (closed) {
        return;
      }
      closed = true;
      open = Arrays.asList(consuming, producing);
    }
    ticker.shutdownNow();
    CompletableFuture<?>[] closing =
        open.stream()
            .filter(Objects::nonNull)
            .map(PulsarClient::closeAsync)
            .toArray(CompletableFuture<?>[]::new);
    try {
      CompletableFuture.allOf(closing).get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      cut(open);
    } catch (ExecutionException | TimeoutException e) {
      cut(open);
    }
  }

  /** Shutting down waits for the client's threads, so another thread does it. */
  private static void cut(List<PulsarClient> open) {
    Thread cutter =
        new Thread(
            () -> {
              for (PulsarClient each : open) {
                try {
                  if (each != null) {
                    each.shutdown();
                  }
                } catch (PulsarClientException | RuntimeException e) {
                  LOG.debug("cutting a client: {}", Failures.words(e));
                }
              }
            },
            "floatvalve-pulsar-cut");
    cutter.setDaemon(true);
    cutter.start();
  }

  @Override
  public String toString() {
    return "PulsarBroker[" + describe() + "]";
  }

  private static @Nullable String notEmpty(String name, @Nullable String value) {
    if (value != null && value.isEmpty()) {
      throw new IllegalArgumentException(name + " must not be empty");
    }
    return value;
  }

  /**
   * Where and how to connect. Immutable; each {@code with} method returns a changed copy.
   *
   * <p>Values out of range are refused with an {@link IllegalArgumentException} that gives the
   * range and the value; secrets are never shown.
   */
  public static final class Settings {
    private final String serviceUrl;
    private final @Nullable String listenerName;
    private final @Nullable String adminUrl;
    private final @Nullable Path trustedCertificates;
    private final boolean hostNameVerification;
    private final @Nullable ClientKey clientCertificate;
    private final @Nullable Authentication authentication;
    private final @Nullable TokenFile tokenFile; // that this authentication reads
    private final Duration connectTimeout;
    private final Duration operationTimeout;
    private final Duration keepAlive;
    private final int ioThreads;

    private Settings(Connection v) {
      serviceUrl = checked(v.serviceUrl);
      listenerName = notEmpty("listenerName", v.listenerName);
      adminUrl = notEmpty("adminUrl", v.adminUrl);
      trustedCertificates = v.trustedCertificates;
      hostNameVerification = v.hostNameVerification;
      clientCertificate = v.clientCertificate;
      authentication = v.authentication;
      tokenFile = v.tokenFile;
      connectTimeout =
          within("connectTimeout", v.connectTimeout, Duration.ofMillis(1), Duration.ofHours(1));
      operationTimeout =
          within("operationTimeout", v.operationTimeout, Duration.ofMillis(1), Duration.ofHours(1));
      keepAlive = within("keepAlive", v.keepAlive, Duration.ofSeconds(1), Duration.ofHours(1));
      ioThreads = within("ioThreads", v.ioThreads, 1, 256);
      if (trustedCertificates != null && !serviceUrl.startsWith("pulsar+ssl://")) {
        throw new IllegalArgumentException(
            "trustedCertificates need an address that begins with pulsar+ssl://, was " + where());
      }
      if (clientCertificate != null && !serviceUrl.startsWith("pulsar+ssl://")) {
        throw new IllegalArgumentException(
            "clientCertificate needs an address that begins with pulsar+ssl://, was " + where());
      }
    }

    private static String checked(String serviceUrl) {
      boolean known = serviceUrl.startsWith("pulsar://") || serviceUrl.startsWith("pulsar+ssl://");
      if (!known) {
        throw new IllegalArgumentException("serviceUrl must begin with pulsar:// or pulsar+ssl://");
      }
      // What is refused may hold a secret anywhere: it is never repeated, not even by a cause.
      if (serviceUrl.contains("@")) {
        throw new IllegalArgumentException(
            "serviceUrl holds a user or password; give them by withAuthentication");
      }
      int hosts = serviceUrl.indexOf("://") + 3;
      int end = serviceUrl.length() - (serviceUrl.endsWith("/") ? 1 : 0);
      if (end <= hosts) {
        throw new IllegalArgumentException("serviceUrl names no host");
      }
      for (String each : serviceUrl.substring(hosts, end).split(",", -1)) {
        try {
          URI uri = new URI("pulsar://" + each);
          if (uri.getHost() == null || uri.getPort() == 0 || uri.getPort() > 65_535) {
            throw new IllegalArgumentException(
                "serviceUrl must name hosts, each with a port from 1 to 65535 or none");
          }
          if (uri.getRawQuery() != null
              || uri.getRawFragment() != null
              || !uri.getRawPath().isEmpty()) {
            throw new IllegalArgumentException("serviceUrl must have no path, query or fragment");
          }
        } catch (URISyntaxException e) {
          throw new IllegalArgumentException("serviceUrl is no address: " + e.getReason());
        }
      }
      return serviceUrl;
    }

    /**
     * Returns settings for this address, with the default of everything else.
     *
     * @param serviceUrl {@code pulsar://host:port} or {@code pulsar+ssl://host:port}, several hosts
     *     separated by commas
     * @throws IllegalArgumentException if it is no such address, or holds a user or password
     */
    public static Settings at(String serviceUrl) {
      Connection v = new Connection();
      v.serviceUrl = Objects.requireNonNull(serviceUrl, "serviceUrl");
      return new Settings(v);
    }

    String where() {
      return serviceUrl.substring(serviceUrl.indexOf("://") + 3);
    }

    /** Its memory is bounded by the windows of the publishers. */
    PulsarClient producingClient() throws PulsarClientException {
      return client().memoryLimit(0, SizeUnit.BYTES).build();
    }

    ClientBuilder client() {
      ClientBuilder b =
          PulsarClient.builder()
              .serviceUrl(serviceUrl)
              .connectionTimeout((int) connectTimeout.toMillis(), TimeUnit.MILLISECONDS)
              .operationTimeout((int) operationTimeout.toMillis(), TimeUnit.MILLISECONDS)
              .lookupTimeout((int) operationTimeout.toMillis(), TimeUnit.MILLISECONDS)
              .keepAliveInterval((int) keepAlive.toSeconds(), TimeUnit.SECONDS)
              .ioThreads(ioThreads)
              .enableTlsHostnameVerification(hostNameVerification)
              .allowTlsInsecureConnection(false);
      keepStatistics(b);
      if (listenerName != null) {
        b.listenerName(listenerName);
      }
      if (trustedCertificates != null) {
        b.tlsTrustCertsFilePath(trustedCertificates.toString());
      }
      if (clientCertificate != null) {
        b.tlsCertificateFilePath(clientCertificate.certificate().toString())
            .tlsKeyFilePath(clientCertificate.key().toString());
      }
      if (authentication != null) {
        b.authentication(authentication);
      }
      return b;
    }

    @SuppressWarnings("deprecation") // where alone the client counts what it could not read
    private static void keepStatistics(ClientBuilder b) {
      b.statsInterval(1, TimeUnit.DAYS);
    }

    /** Returns the address as it was given. */
    public String serviceUrl() {
      return serviceUrl;
    }

    /** Returns which of the broker's listeners is used, or null for its default. */
    public @Nullable String listenerName() {
      return listenerName;
    }

    /**
     * Sets which of the broker's advertised listeners is used, for a broker behind a proxy.
     *
     * @param listenerName not empty; null, the default, for the broker's default
     */
    public Settings withListenerName(@Nullable String listenerName) {
      Connection v = values();
      v.listenerName = listenerName;
      return new Settings(v);
    }

    /** Returns the address of the broker's admin interface, or null if none is known. */
    public @Nullable String adminUrl() {
      return adminUrl;
    }

    /**
     * Sets the address of the broker's admin interface, for explanations that only the broker can
     * confirm. Nothing else needs it.
     *
     * @param adminUrl {@code http://host:port}; null, the default, for none
     */
    public Settings withAdminUrl(@Nullable String adminUrl) {
      Connection v = values();
      v.adminUrl = adminUrl;
      return new Settings(v);
    }

    /**
     * Sets the certificates that are trusted, in a PEM file.
     *
     * @param trustedCertificates null, the default, for those of the JVM
     * @throws IllegalArgumentException if the address is not {@code pulsar+ssl://}
     */
    public Settings withTrustedCertificates(@Nullable Path trustedCertificates) {
      Connection v = values();
      v.trustedCertificates = trustedCertificates;
      return new Settings(v);
    }

    /**
     * Sets whether the broker's certificate must be for the host that was asked for.
     *
     * @param hostNameVerification true by default; without, anyone with a trusted certificate can
     *     be the broker
     */
    public Settings withHostNameVerification(boolean hostNameVerification) {
      Connection v = values();
      v.hostNameVerification = hostNameVerification;
      return new Settings(v);
    }

    /** Returns each host and port. */
    List<URI> addresses() {
      String scheme = isTls() ? "pulsar+ssl://" : "pulsar://";
      return Arrays.stream(where().split(","))
          .map(each -> URI.create(scheme + each.strip()))
          .filter(each -> each.getHost() != null)
          .toList();
    }

    boolean isTls() {
      return serviceUrl.startsWith("pulsar+ssl://");
    }

    boolean hostNameVerification() {
      return hostNameVerification;
    }

    @Nullable Path trustedCertificates() {
      return trustedCertificates;
    }

    @Nullable ClientKey clientCertificate() {
      return clientCertificate;
    }

    @Nullable Authentication authentication() {
      return authentication;
    }

    @Nullable TokenFile tokenFile() {
      return tokenFile;
    }

    Duration connectTimeout() {
      return connectTimeout;
    }

    /**
     * Sets the certificate that is shown to the broker, for TLS of both sides. Both files are read
     * again for each connection. May go together with a token: the certificate then is for the
     * connection, and the token says who we are.
     *
     * @param certificate a PEM file, with what is between it and an authority that the broker
     *     knows; none by default
     * @param key a PEM file with its private key, PKCS #8 without a password: a secret
     * @throws IllegalArgumentException if the address is not {@code pulsar+ssl://}
     */
    public Settings withClientCertificate(Path certificate, Path key) {
      Connection v = values();
      v.clientCertificate =
          new ClientKey(
              Objects.requireNonNull(certificate, "certificate"),
              Objects.requireNonNull(key, "key"));
      return new Settings(v);
    }

    /**
     * Sets what gives the token that says who we are, instead of any other authentication.
     *
     * @param token called for each connection, and whenever the broker says that a token has
     *     expired, on a thread of the client's: it should not wait long. What it gives is a secret,
     *     and never shown. What it throws ends that attempt
     */
    public Settings withToken(Supplier<String> token) {
      Objects.requireNonNull(token, "token");
      return withAuthentication(AuthenticationFactory.token(token));
    }

    /**
     * Sets the file that holds the token that says who we are, instead of any other authentication.
     * It is read again for each connection, and whenever the broker says that a token has expired,
     * so that it can be replaced while we run. White space around the token means nothing.
     *
     * @param file of at most 1 MiB. Where it cannot be read or is empty, the first opening is
     *     refused and says so; later, that attempt to connect fails
     */
    public Settings withTokenFile(Path file) {
      TokenFile token = new TokenFile(Objects.requireNonNull(file, "file"));
      Connection v = withToken(token).values();
      v.tokenFile = token;
      return new Settings(v);
    }

    /**
     * Sets who we are to the broker: a plugin of the client's, such as for OAuth 2.0.
     *
     * @param authentication null, the default, for nobody
     */
    public Settings withAuthentication(@Nullable Authentication authentication) {
      Connection v = values();
      v.authentication = authentication;
      v.tokenFile = null;
      return new Settings(v);
    }

    /**
     * Sets how long a TCP connection may take to be made.
     *
     * @param connectTimeout from 1 ms to 1 hour; 5 s by default
     */
    public Settings withConnectTimeout(Duration connectTimeout) {
      Connection v = values();
      v.connectTimeout = connectTimeout;
      return new Settings(v);
    }

    /**
     * Sets how long the client waits for an answer of the broker's to one request, such as a lookup
     * or a subscription. What opens a consumer is bounded by its {@code openTimeout} as well.
     *
     * @param operationTimeout from 1 ms to 1 hour; 10 s by default
     */
    public Settings withOperationTimeout(Duration operationTimeout) {
      Connection v = values();
      v.operationTimeout = operationTimeout;
      return new Settings(v);
    }

    /**
     * Sets after which time of silence the broker is asked whether it is still there; after twice
     * that the connection is given up.
     *
     * @param keepAlive from 1 s to 1 hour, in whole seconds; 30 s by default
     */
    public Settings withKeepAlive(Duration keepAlive) {
      Connection v = values();
      v.keepAlive = keepAlive;
      return new Settings(v);
    }

    /**
     * Sets how many threads of the client read and write the connections, of consumers and of
     * publishers each.
     *
     * @param ioThreads from 1 to 256; 1 by default
     */
    public Settings withIoThreads(int ioThreads) {
      Connection v = values();
      v.ioThreads = ioThreads;
      return new Settings(v);
    }

    private Connection values() {
      Connection v = new Connection();
      v.serviceUrl = serviceUrl;
      v.listenerName = listenerName;
      v.adminUrl = adminUrl;
      v.trustedCertificates = trustedCertificates;
      v.hostNameVerification = hostNameVerification;
      v.clientCertificate = clientCertificate;
      v.authentication = authentication;
      v.tokenFile = tokenFile;
      v.connectTimeout = connectTimeout;
      v.operationTimeout = operationTimeout;
      v.keepAlive = keepAlive;
      v.ioThreads = ioThreads;
      return v;
    }

    /** Names where to connect; never who we are. */
    @Override
    public String toString() {
      return "Settings["
          + where()
          + (listenerName == null ? "" : ", listener " + listenerName)
          + "]";
    }

    /** What the one constructor checks; holds the defaults. */
    private static final class Connection {
      private String serviceUrl = "";
      private @Nullable String listenerName;
      private @Nullable String adminUrl;
      private @Nullable Path trustedCertificates;
      private boolean hostNameVerification = true;
      private @Nullable ClientKey clientCertificate;
      private @Nullable Authentication authentication;
      private @Nullable TokenFile tokenFile;
      private Duration connectTimeout = Duration.ofSeconds(5);
      private Duration operationTimeout = Duration.ofSeconds(10);
      private Duration keepAlive = Duration.ofSeconds(30);
      private int ioThreads = 1;
    }
  }

  /**
   * What only Pulsar has, for publishing. Given by {@code PublisherSettings.withNative}. Immutable;
   * each {@code with} method returns a changed copy.
   */
  public static final class PublishSettings {
    private final @Nullable String producerName;
    private final ProducerAccessMode accessMode;
    private final boolean batching;
    private final Duration linger;
    private final int batchMessages;
    private final int batchBytes;
    private final boolean batchByKey;
    private final CompressionType compression;
    private final boolean chunking;
    private final int chunkBytes;
    private final @Nullable String sequenceHeader;
    private final MessageRoutingMode routing;
    private final HashingScheme hashing;

    private PublishSettings(Chosen v) {
      producerName = notEmpty("producerName", v.producerName);
      accessMode = Objects.requireNonNull(v.accessMode, "accessMode");
      batching = v.batching;
      linger = within("linger", v.linger, Duration.ofMillis(1), Duration.ofMillis(100));
      batchMessages = within("batchMessages", v.batchMessages, 2, 100_000);
      batchBytes = within("batchBytes", v.batchBytes, 1, 5 << 20);
      batchByKey = v.batchByKey;
      compression = Objects.requireNonNull(v.compression, "compression");
      chunking = v.chunking;
      chunkBytes = within("chunkBytes", v.chunkBytes, 0, 1 << 30);
      sequenceHeader = notEmpty("sequenceHeader", v.sequenceHeader);
      routing = Objects.requireNonNull(v.routing, "routing");
      hashing = Objects.requireNonNull(v.hashing, "hashing");
      if (sequenceHeader != null && producerName == null) {
        throw new IllegalArgumentException(
            "sequenceHeader needs a producerName: the broker keeps the last number by that name");
      }
      if (routing == MessageRoutingMode.CustomPartition) {
        throw new IllegalArgumentException(
            "routing must be RoundRobinPartition or SinglePartition, was " + routing);
      }
    }

    /** Returns the default of everything. */
    public static PublishSettings defaults() {
      return new PublishSettings(new Chosen());
    }

    @SuppressWarnings("deprecation") // the bound across partitions still holds unless it is lifted
    ProducerBuilder<byte[]> producer(ProducerBuilder<byte[]> b, Routing by) {
      b.blockIfQueueFull(false) // it could block the thread that would make room
          .maxPendingMessages(0) // none: the window is the bound
          .sendTimeout(0, TimeUnit.MILLISECONDS) // none: the confirm timeout is the deadline
          .accessMode(accessMode)
          .compressionType(compression)
          .messageRoutingMode(MessageRoutingMode.CustomPartition)
          .messageRouter(by)
          .hashingScheme(hashing)
          .enableBatching(batches())
          .enableChunking(chunking);
      if (batches()) {
        b.batchingMaxPublishDelay(linger.toMillis(), TimeUnit.MILLISECONDS)
            .batchingMaxMessages(batchMessages)
            .batchingMaxBytes(batchBytes)
            .batcherBuilder(batchByKey ? BatcherBuilder.KEY_BASED : BatcherBuilder.DEFAULT);
      }
      if (chunking && chunkBytes > 0) {
        b.chunkMaxMessageSize(chunkBytes);
      }
      if (producerName != null) {
        b.producerName(producerName);
      }
      return b;
    }

    /** Returns what picks partitions for one producer. */
    Routing routes() {
      return new Routing(routing, hashing, batches(), linger.toMillis());
    }

    boolean batches() {
      return batching && !chunking;
    }

    @Nullable String producerName() {
      return producerName;
    }

    /**
     * Sets what the producer is called. The broker lets no two of a name in at the same time, and
     * knows messages that it has already by this name and their numbers, where it is told to drop
     * duplicates ({@code deduplicationEnabled} of a namespace or topic): then a message that the
     * client sends again after it lost its connection is stored once.
     *
     * <p>That holds within one opening of the publisher. A message that is <em>published</em> again
     * has a new number, unless it brings its own: {@link #withSequenceHeader}.
     *
     * @param producerName null, the default, for one that the broker makes up
     */
    public PublishSettings withProducerName(@Nullable String producerName) {
      Chosen v = values();
      v.producerName = producerName;
      return new PublishSettings(v);
    }

    @Nullable String sequenceHeader() {
      return sequenceHeader;
    }

    /**
     * Sets which header holds a message's number, a {@code Long} from 0, for brokers that drop
     * duplicates: the place of a record in a file, say. A message that is published again under its
     * number is stored once, in whatever process.
     *
     * <p>Numbers must rise: the broker drops all that are not above the highest it has of this
     * producer, whether it has that message or not. It answers those as if they were stored, but
     * names no place; such an answer is {@code Unknown} unless the client itself had sent the
     * message again. So publish what is {@code Unknown} again before all that came after it.
     *
     * @param sequenceHeader null, the default, for numbers that the client counts; else {@link
     *     #withProducerName} comes first
     * @throws IllegalArgumentException if there is no producer name
     */
    public PublishSettings withSequenceHeader(@Nullable String sequenceHeader) {
      Chosen v = values();
      v.sequenceHeader = sequenceHeader;
      return new PublishSettings(v);
    }

    ProducerAccessMode accessMode() {
      return accessMode;
    }

    /**
     * Sets whether other producers may send to the topic at the same time.
     *
     * @param accessMode {@code Shared} by default. One that is fenced off by another has its
     *     messages {@code Nacked}
     */
    public PublishSettings withAccessMode(ProducerAccessMode accessMode) {
      Chosen v = values();
      v.accessMode = accessMode;
      return new PublishSettings(v);
    }

    boolean batching() {
      return batching;
    }

    /**
     * Sets whether messages are sent together. Without, a message costs the broker several times
     * the work; a delayed message is never sent together with others.
     *
     * @param batching true by default; without effect where large messages are sent in pieces
     */
    public PublishSettings withBatching(boolean batching) {
      Chosen v = values();
      v.batching = batching;
      return new PublishSettings(v);
    }

    Duration linger() {
      return linger;
    }

    /**
     * Sets how long a message waits for others to be sent with. It goes earlier when the batch is
     * full, or when a thread waits for an outcome ({@code join} or {@code get} of its future).
     *
     * <p>It is part of the confirm latency: what is in flight must grow with it, and an adaptive
     * window will.
     *
     * @param linger from 1 ms, the default, to 100 ms
     */
    public PublishSettings withLinger(Duration linger) {
      Chosen v = values();
      v.linger = linger;
      return new PublishSettings(v);
    }

    int batchMessages() {
      return batchMessages;
    }

    /**
     * Sets how many messages a batch may hold.
     *
     * @param batchMessages from 2 to 100,000; 1,000 by default
     */
    public PublishSettings withBatchMessages(int batchMessages) {
      Chosen v = values();
      v.batchMessages = batchMessages;
      return new PublishSettings(v);
    }

    int batchBytes() {
      return batchBytes;
    }

    /**
     * Sets how large the payloads of a batch may be together. A larger message is sent alone, at
     * once.
     *
     * @param batchBytes from 1 byte to 5 MiB; 128 KiB by default
     */
    public PublishSettings withBatchBytes(int batchBytes) {
      Chosen v = values();
      v.batchBytes = batchBytes;
      return new PublishSettings(v);
    }

    boolean batchByKey() {
      return batchByKey;
    }

    /**
     * Sets whether a batch holds messages of one key only. A Key_Shared subscription needs that: it
     * gives a batch away as a whole, by the key of its first message. Messages without a key share
     * batches either way.
     *
     * @param batchByKey true by default; false makes fuller batches where there are many keys and
     *     no consumer needs the order by key
     */
    public PublishSettings withBatchByKey(boolean batchByKey) {
      Chosen v = values();
      v.batchByKey = batchByKey;
      return new PublishSettings(v);
    }

    CompressionType compression() {
      return compression;
    }

    /**
     * Sets how payloads are compressed, batches as a whole.
     *
     * @param compression {@code NONE} by default
     */
    public PublishSettings withCompression(CompressionType compression) {
      Chosen v = values();
      v.compression = compression;
      return new PublishSettings(v);
    }

    boolean chunking() {
      return chunking;
    }

    /**
     * Sets whether a message that is larger than the broker takes is sent in pieces, which the
     * consumer's client puts together. Switches batches off. Raise {@code maxMessageBytes} of the
     * publisher as well.
     *
     * @param chunking false by default: such a message is {@code NotSent}
     */
    public PublishSettings withChunking(boolean chunking) {
      Chosen v = values();
      v.chunking = chunking;
      return new PublishSettings(v);
    }

    int chunkBytes() {
      return chunkBytes;
    }

    /**
     * Sets how large a piece may be.
     *
     * @param chunkBytes from 1 byte to 1 GiB; 0, the default, for what the broker takes
     */
    public PublishSettings withChunkBytes(int chunkBytes) {
      Chosen v = values();
      v.chunkBytes = chunkBytes;
      return new PublishSettings(v);
    }

    MessageRoutingMode routing() {
      return routing;
    }

    /**
     * Sets to which partition messages without a key go. Those of one key always go to the same.
     *
     * @param routing {@code RoundRobinPartition}, the default, changing with each batch; or {@code
     *     SinglePartition}, one that is picked at random when the publisher is opened
     */
    public PublishSettings withRouting(MessageRoutingMode routing) {
      Chosen v = values();
      v.routing = routing;
      return new PublishSettings(v);
    }

    HashingScheme hashing() {
      return hashing;
    }

    /**
     * Sets how a key picks its partition. All producers to a topic must agree, clients in other
     * languages too.
     *
     * @param hashing {@code JavaStringHash} by default, as the Java client has it
     */
    public PublishSettings withHashing(HashingScheme hashing) {
      Chosen v = values();
      v.hashing = hashing;
      return new PublishSettings(v);
    }

    private Chosen values() {
      Chosen v = new Chosen();
      v.producerName = producerName;
      v.accessMode = accessMode;
      v.batching = batching;
      v.linger = linger;
      v.batchMessages = batchMessages;
      v.batchBytes = batchBytes;
      v.batchByKey = batchByKey;
      v.compression = compression;
      v.chunking = chunking;
      v.chunkBytes = chunkBytes;
      v.sequenceHeader = sequenceHeader;
      v.routing = routing;
      v.hashing = hashing;
      return v;
    }

    @Override
    public String toString() {
      return "PublishSettings["
          + (producerName == null ? "" : "producer " + producerName + ", ")
          + (batches() ? "batches of " + batchMessages + " within " + linger : "no batches")
          + (chunking ? ", in pieces" : "")
          + ", compression "
          + compression
          + "]";
    }

    /** What the one constructor checks; holds the defaults. */
    private static final class Chosen {
      private @Nullable String producerName;
      private ProducerAccessMode accessMode = ProducerAccessMode.Shared;
      private boolean batching = true;
      private Duration linger = Duration.ofMillis(1);
      private int batchMessages = 1_000;
      private int batchBytes = 128 << 10;
      private boolean batchByKey = true;
      private CompressionType compression = CompressionType.NONE;
      private boolean chunking;
      private int chunkBytes;
      private @Nullable String sequenceHeader;
      private MessageRoutingMode routing = MessageRoutingMode.RoundRobinPartition;
      private HashingScheme hashing = HashingScheme.JavaStringHash;
    }
  }

  /**
   * What only Pulsar has, for consuming. Given by {@code ConsumerSettings.withNative}. Immutable;
   * each {@code with} method returns a changed copy.
   */
  public static final class ConsumeSettings {
    private final @Nullable String subscriptionName;
    private final @Nullable SubscriptionType subscriptionType;
    private final SubscriptionInitialPosition initialPosition;
    private final Map<String, String> subscriptionProperties;
    private final @Nullable String consumerName;
    private final int priorityLevel;
    private final boolean readCompacted;
    private final boolean receipts;
    private final Duration acknowledgementDelay;
    private final Duration ackTimeout;
    private final @Nullable String retryTopic;
    private final @Nullable String deadLetterTopic;
    private final @Nullable String deadLetterSubscription;
    private final Duration partitionsCheck;

    private ConsumeSettings(Values v) {
      subscriptionName = notEmpty("subscriptionName", v.subscriptionName);
      subscriptionType = v.subscriptionType;
      initialPosition = Objects.requireNonNull(v.initialPosition, "initialPosition");
      subscriptionProperties = Map.copyOf(v.subscriptionProperties);
      consumerName = notEmpty("consumerName", v.consumerName);
      priorityLevel = within("priorityLevel", v.priorityLevel, 0, 1_000);
      readCompacted = v.readCompacted;
      receipts = v.receipts;
      acknowledgementDelay =
          within(
              "acknowledgementDelay", v.acknowledgementDelay, Duration.ZERO, Duration.ofMinutes(1));
      ackTimeout = v.ackTimeout;
      if (!ackTimeout.isZero()) {
        within("ackTimeout, if not zero,", ackTimeout, Duration.ofSeconds(1), Duration.ofDays(1));
      }
      retryTopic = notEmpty("retryTopic", v.retryTopic);
      deadLetterTopic = notEmpty("deadLetterTopic", v.deadLetterTopic);
      deadLetterSubscription = notEmpty("deadLetterSubscription", v.deadLetterSubscription);
      partitionsCheck =
          within("partitionsCheck", v.partitionsCheck, Duration.ofMillis(100), Duration.ofDays(1));
    }

    /** Returns the default of everything. */
    public static ConsumeSettings defaults() {
      return new ConsumeSettings(new Values());
    }

    @Nullable String subscriptionName() {
      return subscriptionName;
    }

    /**
     * Sets the name of the subscription, instead of the consumer's group. Another group than this
     * is refused.
     *
     * @param subscriptionName not empty; null, the default, for the group
     */
    public ConsumeSettings withSubscriptionName(@Nullable String subscriptionName) {
      Values v = values();
      v.subscriptionName = subscriptionName;
      return new ConsumeSettings(v);
    }

    @Nullable SubscriptionType subscriptionType() {
      return subscriptionType;
    }

    /**
     * Sets the type of the subscription, instead of what the ordering asks for. A type that does
     * not keep that ordering is refused when the consumer is opened; one that keeps more is not.
     *
     * @param subscriptionType null, the default, for Shared (no ordering), Key_Shared (by key) or
     *     Failover (total)
     */
    public ConsumeSettings withSubscriptionType(@Nullable SubscriptionType subscriptionType) {
      Values v = values();
      v.subscriptionType = subscriptionType;
      return new ConsumeSettings(v);
    }

    SubscriptionInitialPosition initialPosition() {
      return initialPosition;
    }

    /**
     * Sets where a subscription begins that did not exist before; of an existing one it changes
     * nothing. Partitions that are added later are read from their beginning.
     *
     * @param initialPosition {@code Latest} by default, as Pulsar has it: what was published before
     *     is not delivered
     */
    public ConsumeSettings withInitialPosition(SubscriptionInitialPosition initialPosition) {
      Values v = values();
      v.initialPosition = initialPosition;
      return new ConsumeSettings(v);
    }

    Map<String, String> subscriptionProperties() {
      return subscriptionProperties;
    }

    /** Sets properties of a subscription that did not exist before; none by default. */
    public ConsumeSettings withSubscriptionProperties(Map<String, String> properties) {
      Values v = values();
      v.subscriptionProperties = properties;
      return new ConsumeSettings(v);
    }

    @Nullable String consumerName() {
      return consumerName;
    }

    /**
     * Sets what the consumer is called in the broker's statistics. Under Failover the consumer
     * whose name comes first is served.
     *
     * @param consumerName null, the default, for a random one
     */
    public ConsumeSettings withConsumerName(@Nullable String consumerName) {
      Values v = values();
      v.consumerName = consumerName;
      return new ConsumeSettings(v);
    }

    int priorityLevel() {
      return priorityLevel;
    }

    /**
     * Sets the rank among consumers of a Shared or Failover subscription: a lower number is served
     * first.
     *
     * @param priorityLevel from 0, the default, to 1,000
     */
    public ConsumeSettings withPriorityLevel(int priorityLevel) {
      Values v = values();
      v.priorityLevel = priorityLevel;
      return new ConsumeSettings(v);
    }

    boolean readCompacted() {
      return readCompacted;
    }

    /** Sets whether a compacted topic is read as such; false by default. */
    public ConsumeSettings withReadCompacted(boolean readCompacted) {
      Values v = values();
      v.readCompacted = readCompacted;
      return new ConsumeSettings(v);
    }

    boolean receipts() {
      return receipts;
    }

    /**
     * Sets whether the broker confirms acknowledgements. Draining a consumer then waits for that;
     * without, it waits until they are on the wire. Costs an answer for each group of
     * acknowledgements.
     *
     * @param receipts false by default
     */
    public ConsumeSettings withReceipts(boolean receipts) {
      Values v = values();
      v.receipts = receipts;
      return new ConsumeSettings(v);
    }

    Duration acknowledgementDelay() {
      return acknowledgementDelay;
    }

    /**
     * Sets how long acknowledgements are collected before they are sent. What was not sent when the
     * process dies is delivered again.
     *
     * @param acknowledgementDelay from 0, each at once, to 1 minute; 100 ms by default
     */
    public ConsumeSettings withAcknowledgementDelay(Duration acknowledgementDelay) {
      Values v = values();
      v.acknowledgementDelay = acknowledgementDelay;
      return new ConsumeSettings(v);
    }

    Duration ackTimeout() {
      return ackTimeout;
    }

    /**
     * Sets after which time the client asks for a message again that was taken and not settled. It
     * does not know whether a handler is still at work on it, so below the longest handling it
     * makes every message come twice.
     *
     * @param ackTimeout from 1 s to 1 day; zero, the default, for never
     */
    public ConsumeSettings withAckTimeout(Duration ackTimeout) {
      Values v = values();
      v.ackTimeout = ackTimeout;
      return new ConsumeSettings(v);
    }

    @Nullable String retryTopic() {
      return retryTopic;
    }

    /**
     * Sets the topic in which messages wait to be handled again. It belongs to one subscription.
     *
     * @param retryTopic null, the default, for {@code TOPIC-SUBSCRIPTION-RETRY}
     */
    public ConsumeSettings withRetryTopic(@Nullable String retryTopic) {
      Values v = values();
      v.retryTopic = retryTopic;
      return new ConsumeSettings(v);
    }

    @Nullable String deadLetterTopic() {
      return deadLetterTopic;
    }

    /**
     * Sets the topic of dead letters, as the consumer's own settings do, which must not name
     * another.
     *
     * @param deadLetterTopic null, the default, for {@code TOPIC-SUBSCRIPTION-DLQ}
     */
    public ConsumeSettings withDeadLetterTopic(@Nullable String deadLetterTopic) {
      Values v = values();
      v.deadLetterTopic = deadLetterTopic;
      return new ConsumeSettings(v);
    }

    @Nullable String deadLetterSubscription() {
      return deadLetterSubscription;
    }

    /**
     * Sets the subscription that keeps dead letters: without any, Pulsar forgets a message at once.
     * It is made before the first one is sent.
     *
     * @param deadLetterSubscription null, the default, for the name of the consumer's own
     */
    public ConsumeSettings withDeadLetterSubscription(@Nullable String deadLetterSubscription) {
      Values v = values();
      v.deadLetterSubscription = deadLetterSubscription;
      return new ConsumeSettings(v);
    }

    Duration partitionsCheck() {
      return partitionsCheck;
    }

    /**
     * Sets how often the broker is asked whether partitions were added, or retries of a sibling's
     * wait.
     *
     * @param partitionsCheck from 100 ms to 1 day; 1 minute by default
     */
    public ConsumeSettings withPartitionsCheck(Duration partitionsCheck) {
      Values v = values();
      v.partitionsCheck = partitionsCheck;
      return new ConsumeSettings(v);
    }

    private Values values() {
      Values v = new Values();
      v.subscriptionName = subscriptionName;
      v.subscriptionType = subscriptionType;
      v.initialPosition = initialPosition;
      v.subscriptionProperties = subscriptionProperties;
      v.consumerName = consumerName;
      v.priorityLevel = priorityLevel;
      v.readCompacted = readCompacted;
      v.receipts = receipts;
      v.acknowledgementDelay = acknowledgementDelay;
      v.ackTimeout = ackTimeout;
      v.retryTopic = retryTopic;
      v.deadLetterTopic = deadLetterTopic;
      v.deadLetterSubscription = deadLetterSubscription;
      v.partitionsCheck = partitionsCheck;
      return v;
    }

    @Override
    public String toString() {
      return "ConsumeSettings["
          + (subscriptionName == null ? "" : "subscription " + subscriptionName + ", ")
          + (subscriptionType == null ? "" : "type " + subscriptionType + ", ")
          + "from "
          + initialPosition
          + (receipts ? ", receipts" : "")
          + "]";
    }

    /** What the one constructor checks; holds the defaults. */
    private static final class Values {
      private @Nullable String subscriptionName;
      private @Nullable SubscriptionType subscriptionType;
      private SubscriptionInitialPosition initialPosition = SubscriptionInitialPosition.Latest;
      private Map<String, String> subscriptionProperties = Map.of();
      private @Nullable String consumerName;
      private int priorityLevel;
      private boolean readCompacted;
      private boolean receipts;
      private Duration acknowledgementDelay = Duration.ofMillis(100);
      private Duration ackTimeout = Duration.ZERO;
      private @Nullable String retryTopic;
      private @Nullable String deadLetterTopic;
      private @Nullable String deadLetterSubscription;
      private Duration partitionsCheck = Duration.ofMinutes(1);
    }
  }

  /**
   * Where Pulsar's admin interface is, for what only the broker knows: backlog, permits there, who
   * shares a subscription, what is throttled. Optional; never asked on the way of a message.
   * Immutable; each {@code with} method returns a changed copy.
   */
  public static final class Admin {
    private final String url;
    private final Supplier<String> token;
    private final Set<String> hosts;
    private final Duration timeout;
    private final Duration interval;

    private Admin(
        String url,
        Supplier<String> token,
        Set<String> hosts,
        Duration timeout,
        Duration interval) {
      this.url = Objects.requireNonNull(url, "url");
      this.token = Objects.requireNonNull(token, "token");
      this.hosts = Set.copyOf(hosts);
      this.timeout = within("timeout", timeout, Duration.ofMillis(1), Duration.ofMinutes(1));
      this.interval = within("interval", interval, Duration.ofMillis(100), Duration.ofHours(1));
      Object unused = http();
    }

    /**
     * Returns one without a token.
     *
     * @param url {@code http://host:port} or {@code https://…}
     * @throws IllegalArgumentException if it is no such address, or holds a user or password
     */
    public static Admin at(String url) {
      return new Admin(url, () -> "", Set.of(), Duration.ofSeconds(3), Duration.ofSeconds(2));
    }

    /**
     * Sets which hosts a request may be sent on to, with the token: a broker that does not own a
     * topic sends it on to the one that does. Elsewhere a request with a token is not sent on to,
     * and never from https to http.
     *
     * @param hosts names or addresses as the brokers tell them, without ports; none by default: the
     *     host of the address alone
     */
    public Admin withHosts(Set<String> hosts) {
      return new Admin(url, token, hosts, timeout, interval);
    }

    /**
     * Sets what gives the token for each request. It is a secret, and never shown.
     *
     * @param token gives an empty text for none, the default
     */
    public Admin withToken(Supplier<String> token) {
      return new Admin(url, token, hosts, timeout, interval);
    }

    /**
     * Sets how long an answer may take.
     *
     * @param timeout from 1 ms to 1 minute; 3 seconds by default
     */
    public Admin withTimeout(Duration timeout) {
      return new Admin(url, token, hosts, timeout, interval);
    }

    /**
     * Sets how often a topic is asked after at most, while somebody wants to know. What is four
     * times as old is not told any more.
     *
     * @param interval from 100 ms to 1 hour; 2 seconds by default
     */
    public Admin withInterval(Duration interval) {
      return new Admin(url, token, hosts, timeout, interval);
    }

    /** Returns what the broker says, as it was heard last. It has no thread; nothing to close. */
    public BrokerViews views() {
      return new AdminViews(http(), interval);
    }

    private AdminHttp http() {
      return new AdminHttp(
          url,
          () -> {
            String secret = token.get();
            return secret.isEmpty() ? "" : "Bearer " + secret;
          },
          timeout,
          hosts);
    }

    @Override
    public String toString() {
      return "Admin[" + url + "]";
    }
  }
}
