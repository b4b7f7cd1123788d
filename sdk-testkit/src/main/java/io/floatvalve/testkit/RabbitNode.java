package io.floatvalve.testkit;

import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A RabbitMQ broker for tests: a private node of the RabbitMQ installed on this machine, or a
 * broker that somebody gave the address of.
 *
 * <p>A private node has a name, ports, an Erlang port mapper, a cookie and folders of its own,
 * listens on 127.0.0.1 only, and runs beside any other. Its folders lie under the directory named
 * by the system property {@code floatvalve.scratch}, {@code target} by default. It ends with this
 * JVM at the latest; what a killed JVM left behind is ended by the next one that starts a node with
 * the same scratch directory.
 *
 * <p>Which broker: {@code FLOATVALVE_RABBIT} in the environment is the AMQP URI of a given one (for
 * {@link #startOrGiven} and {@link #shared}); {@code FLOATVALVE_RABBIT_CHROOT} is a directory that
 * holds a whole Debian with RabbitMQ, entered by {@code chroot}, which needs root and {@code /proc}
 * mounted inside; {@code FLOATVALVE_RABBIT_BIN} is the folder of {@code rabbitmq-server}; else the
 * usual folders are looked at.
 *
 * <p>The methods that need the process of the broker throw {@link UnsupportedOperationException}
 * for a given one. Not thread-safe, except for the static methods and the plain getters. Needs
 * amqp-client on the class path.
 */
public final class RabbitNode implements AutoCloseable {
  /** Where a broker came from. */
  public enum How {
    /** Its address was given; its process is not ours. */
    GIVEN,
    /** A private node of the RabbitMQ installed on this machine. */
    INSTALLED,
    /** A private node of a RabbitMQ inside a directory of its own. */
    CHROOT
  }

  private static final String TLS_PORT = "listeners.ssl.1 = 127.0.0.1:";
  private static final String OWN_FOLDER = "{folder}";
  private static final String MANAGEMENT_PORT = "management.tcp.port = ";
  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
  private static final Duration CTL_LIMIT = Duration.ofMinutes(1);

  private static final Set<RabbitNode> OPEN = ConcurrentHashMap.newKeySet();
  private static final Object SHARED_LOCK = new Object();
  // guarded by SHARED_LOCK
  private static @Nullable RabbitNode sharedNode;

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> OPEN.forEach(RabbitNode::endNow), "rabbit-node-exit"));
  }

  private final How how;
  private final URI address;
  private final @Nullable Local local;
  private volatile boolean shared;
  private volatile @Nullable String version;

  private RabbitNode(How how, URI address, @Nullable Local local) {
    this.how = how;
    this.address = address;
    this.local = local;
  }

  /** Tells whether {@link #startOrGiven} and {@link #shared} have a broker to offer. */
  public static boolean available() {
    return whyMissing().isEmpty();
  }

  /**
   * Tells why {@link #startOrGiven} and {@link #shared} have no broker to offer, and what to do
   * about it; empty when they have. Starts nothing.
   */
  public static Optional<String> whyMissing() {
    return given().isPresent() ? Optional.empty() : whyNoProcess();
  }

  /**
   * Tells why {@link #start} cannot start a node, and what to do about it; empty when it can.
   * Starts nothing.
   */
  public static Optional<String> whyNoProcess() {
    RabbitInstall.Found found = find();
    return found.install().isPresent() ? Optional.empty() : Optional.of(found.whyMissing());
  }

  /** Starts a private node with the broker's default configuration: {@code start(List.of())}. */
  public static RabbitNode start() {
    return start(List.of());
  }

  /**
   * Starts a private node. Returns once it accepts connections, typically after 5 to 10 seconds.
   *
   * @param configuration lines for {@code rabbitmq.conf}, as {@code consumer_timeout = 10000}
   * @throws IllegalStateException if there is nothing to start, see {@link #whyNoProcess}, or the
   *     node does not come up within two minutes; its log is then in the message
   */
  public static RabbitNode start(List<String> configuration) {
    RabbitInstall install = install();
    Path scratch = scratch();
    OwnedProcesses.endOrphans(scratch);
    return start(install, scratch, configuration, null, folder -> {});
  }

  /**
   * Starts a private node as {@link #start(List)} does that also listens for TLS, see {@link
   * #tlsPort}. A client without a certificate of the same authority is refused there.
   *
   * @param authority signs the node's certificate, for {@code localhost}
   * @throws IllegalStateException as {@link #start(List)} does
   */
  public static RabbitNode startWithTls(TestAuthority authority) {
    int port;
    try {
      port = FreePorts.find(1).get(0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    RabbitInstall install = install();
    Path scratch = scratch();
    OwnedProcesses.endOrphans(scratch);
    List<String> lines =
        List.of(
            TLS_PORT + port,
            "ssl_options.cacertfile = " + OWN_FOLDER + "/node-authority.pem",
            "ssl_options.certfile = " + OWN_FOLDER + "/node-certificate.pem",
            "ssl_options.keyfile = " + OWN_FOLDER + "/node-key.pem",
            "ssl_options.verify = verify_peer",
            "ssl_options.fail_if_no_peer_cert = true");
    return start(
        install,
        scratch,
        lines,
        null,
        folder -> authority.write(authority.issue("localhost"), folder, "node"));
  }

  /**
   * Returns the port of TLS of a node that {@link #startWithTls} started.
   *
   * @throws UnsupportedOperationException for any other
   */
  public int tlsPort() {
    return local().configuration.stream()
        .filter(line -> line.startsWith(TLS_PORT))
        .findAny()
        .map(line -> Integer.parseInt(line.substring(TLS_PORT.length())))
        .orElseThrow(() -> new UnsupportedOperationException("started without TLS"));
  }

  /**
   * Starts private nodes that are a cluster: {@code startCluster(count, List.of())}.
   *
   * @param count from 2 to 9
   */
  public static List<RabbitNode> startCluster(int count) {
    return startCluster(count, List.of());
  }

  /**
   * Starts private nodes that are a cluster. Returns once all have joined and accept connections.
   * Each can be stopped, killed and restarted by itself, and is to be closed; a node that is
   * restarted finds the others, of which a majority should run.
   *
   * @param count from 2 to 9
   * @param configuration lines for the {@code rabbitmq.conf} of each
   * @throws IllegalStateException as {@link #start(List)} does
   */
  public static List<RabbitNode> startCluster(int count, List<String> configuration) {
    if (count < 2 || count > 9) {
      throw new IllegalArgumentException("a cluster has from 2 to 9 nodes, not " + count);
    }
    RabbitInstall install = install();
    Path scratch = scratch();
    OwnedProcesses.endOrphans(scratch);
    Cluster cluster;
    try {
      cluster = new Cluster(install, scratch, count);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    List<RabbitNode> nodes = new ArrayList<>();
    boolean up = false;
    try {
      List<String> lines = new ArrayList<>(configuration);
      for (int i = 0; i < count; i++) {
        RabbitNode node = start(install, scratch, lines, cluster, folder -> {});
        nodes.add(node);
        if (i == 0) { // a node joins the one that is named here when it boots for the first time
          lines.add("cluster_formation.peer_discovery_backend = classic_config");
          lines.add("cluster_formation.classic_config.nodes.1 = " + node.local().name());
        }
      }
      up = true;
      return List.copyOf(nodes);
    } finally {
      if (!up) {
        nodes.forEach(RabbitNode::close);
        cluster.end();
      }
    }
  }

  private static RabbitInstall install() {
    RabbitInstall.Found found = find();
    return found.install().orElseThrow(() -> new IllegalStateException(found.whyMissing()));
  }

  private static Path scratch() {
    return Path.of(System.getProperty("floatvalve.scratch", "target")).toAbsolutePath();
  }

  private static RabbitNode start(
      RabbitInstall install,
      Path scratch,
      List<String> configuration,
      @Nullable Cluster cluster,
      Consumer<Path> furnish) {
    try {
      Local local = new Local(install, scratch, configuration, cluster);
      furnish.accept(local.folder);
      URI uri = URI.create("amqp://guest:guest@127.0.0.1:" + local.port);
      RabbitNode node = new RabbitNode(install.how(), uri, local);
      OPEN.add(node);
      boolean up = false;
      try {
        node.boot(local);
        up = true;
        return node;
      } finally {
        if (!up) {
          node.endNow();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Starts a private node as {@link #start(List)} does, with the management interface. It is
   * enabled before the node starts, so nothing of it is missing afterwards. Its figures are a
   * second old at most, where those of a broker that was told nothing are five.
   *
   * @throws IllegalStateException as {@link #start(List)} does
   */
  public static RabbitNode startManaged() {
    int port;
    try {
      port = FreePorts.find(1).get(0);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return start(
        List.of(
            "management.tcp.ip = 127.0.0.1",
            MANAGEMENT_PORT + port,
            "management.rates_mode = basic",
            "collect_statistics_interval = 1000",
            "management.sample_retention_policies.global.minute = 1",
            "management.sample_retention_policies.basic.minute = 1",
            "management.sample_retention_policies.detailed.10 = 1"));
  }

  /**
   * Returns the address of the management interface of a node that {@link #startManaged} started.
   *
   * @throws UnsupportedOperationException for any other
   */
  public String managementUrl() {
    return local().configuration.stream()
        .filter(line -> line.startsWith(MANAGEMENT_PORT))
        .findAny()
        .map(line -> "http://127.0.0.1:" + line.substring(MANAGEMENT_PORT.length()))
        .orElseThrow(() -> new UnsupportedOperationException("started without management"));
  }

  /**
   * Returns the broker whose address was given, else starts a private node as {@link #start()}
   * does. Waits for neither more nor less than a connection to it.
   *
   * @throws IllegalStateException if there is no broker, or it accepts no connection
   */
  public static RabbitNode startOrGiven() {
    Optional<String> given = given();
    if (given.isEmpty()) {
      return start();
    }
    RabbitNode node = of(given.get());
    node.version();
    return node;
  }

  /**
   * Returns a handle of a broker at an address, with {@link How#GIVEN}. Connects to nothing.
   *
   * @param uri as {@code amqp://user:password@host:port/vhost}
   * @throws IllegalArgumentException if it is no AMQP URI
   */
  public static RabbitNode of(String uri) {
    URI address = URI.create(uri);
    boolean amqp = "amqp".equals(address.getScheme()) || "amqps".equals(address.getScheme());
    if (!amqp || address.getHost() == null) {
      throw new IllegalArgumentException("not an AMQP URI: " + uri);
    }
    return new RabbitNode(How.GIVEN, address, null);
  }

  /**
   * Returns the one broker that all tests of this JVM share: the first call does what {@link
   * #startOrGiven} does, later ones return the same. If somebody stopped or killed it, it is
   * restarted first. {@link #close} does nothing to it; it ends with the JVM. Callers on several
   * threads wait for each other.
   *
   * @throws IllegalStateException as {@link #startOrGiven} does
   */
  public static RabbitNode shared() {
    synchronized (SHARED_LOCK) {
      RabbitNode node = sharedNode;
      if (node == null) {
        node = startOrGiven();
        node.shared = true;
        sharedNode = node;
      } else if (node.local != null && !node.local.alive()) {
        node.restart();
      }
      return node;
    }
  }

  /** Returns the address with credentials, as {@code amqp://guest:guest@127.0.0.1:20123}. */
  public String uri() {
    return address.toString();
  }

  /** Returns the host: 127.0.0.1 for a private node. */
  public String host() {
    return address.getHost();
  }

  /** Returns the port that AMQP clients connect to; the same over the whole life of the node. */
  public int port() {
    if (address.getPort() >= 0) {
      return address.getPort();
    }
    return "amqps".equals(address.getScheme()) ? 5671 : 5672;
  }

  /** Tells where the broker came from. */
  public How how() {
    return how;
  }

  /**
   * Returns the broker's version as it tells clients, such as {@code 3.10.8}. The first call of a
   * given broker connects to it.
   *
   * @throws IllegalStateException if it accepts no connection
   */
  public String version() {
    String known = version;
    if (known == null) {
      try {
        known = greet(Duration.ofSeconds(10));
      } catch (IOException e) {
        throw new IllegalStateException("no AMQP broker answers at " + host() + ":" + port(), e);
      }
      version = known;
    }
    return known;
  }

  /** Tells whether the broker's process runs, paused or not. */
  public boolean isRunning() {
    return local().alive();
  }

  /**
   * Stops the node in an orderly way and returns once its processes have ended, typically after 1
   * to 3 seconds; after 30 seconds they are killed. Its data stay for {@link #restart}. Does
   * nothing when it does not run.
   */
  public void stop() {
    Local node = local();
    node.signalIfPaused();
    node.processes.end(STOP_LIMIT);
  }

  /**
   * Kills the node with SIGKILL, as a power cut of the machine would, and returns once it is gone.
   * Its data stay for {@link #restart}: what was written to files. The broker keeps what was
   * declared, also durable queues whose messages it has confirmed, in its memory for up to some
   * seconds: {@link #syncDeclared} first.
   */
  public void kill() {
    local().processes.endNow();
  }

  /**
   * Starts the node again on the same ports and data, stopping it first if it runs. Returns once it
   * accepts connections.
   *
   * @throws IllegalStateException if it does not come up within two minutes
   */
  public void restart() {
    stop();
    try {
      boot(local());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Halts the broker's process with SIGSTOP: it keeps its sockets, and the system goes on accepting
   * connections and bytes for it, but it answers nothing until {@link #resume}.
   */
  public void pause() {
    local().signal("STOP");
  }

  /** Lets a paused broker go on. Does nothing when it is not paused. */
  public void resume() {
    local().signalIfPaused();
  }

  /**
   * Runs {@code rabbitmqctl} on the node and returns what it printed. Takes about 1.5 seconds.
   *
   * @throws IllegalStateException if it fails or takes longer than a minute; its output is in the
   *     message
   */
  public String ctl(String... arguments) {
    return local().ctl(List.of(arguments));
  }

  /**
   * Puts the memory alarm on, so that the broker blocks every connection that publishes, or takes
   * it off again. Returns once the broker knows the new limit; the alarm follows within about a
   * second, and a client is told {@code connection.blocked} only after it has published.
   */
  public void memoryAlarm(boolean on) {
    ctl("set_vm_memory_high_watermark", on ? "0.0001" : "0.4");
  }

  /**
   * Has the broker write to its files what was declared so far. Returns once that is done: from
   * then on {@link #kill} does not lose it.
   */
  public void syncDeclared() {
    ctl("eval", "mnesia:sync_log().");
  }

  /** Returns the ids of the node's processes, the broker's own first; empty when stopped. */
  public List<Long> pids() {
    return local().pids();
  }

  /**
   * Returns the resident memory of the broker's process in bytes.
   *
   * @throws IllegalStateException if it does not run
   * @throws UnsupportedOperationException if this machine has no {@code /proc}
   */
  public long rssBytes() {
    return local().rssBytes();
  }

  /**
   * Returns the folder of the node's data, configuration and logs ({@code log/}). It is deleted by
   * {@link #close}.
   */
  public Path folder() {
    return local().folder;
  }

  /** Stops a private node and deletes its folder. Does nothing to a given or the shared broker. */
  @Override
  public void close() {
    if (local == null || shared) {
      return;
    }
    stop();
    OPEN.remove(this);
    local.delete();
  }

  @Override
  public String toString() {
    return "RabbitNode[" + how + " at " + host() + ":" + port() + "]";
  }

  private static Optional<String> given() {
    return Optional.ofNullable(System.getenv(RabbitInstall.GIVEN)).filter(uri -> !uri.isBlank());
  }

  private static RabbitInstall.Found find() {
    return RabbitInstall.find(System.getenv(), System.getProperty("user.name", ""));
  }

  private Local local() {
    if (local == null) {
      throw new UnsupportedOperationException(
          "the broker at "
              + host()
              + ":"
              + port()
              + " was given by its address; this needs the process of a node started here");
    }
    return local;
  }

  private void endNow() {
    if (local != null) {
      local.processes.endNow();
      local.delete();
    }
  }

  private void boot(Local node) throws IOException {
    node.launch();
    long deadline = System.nanoTime() + START_LIMIT.toNanos();
    while (true) {
      if (node.serverEndedWithin(100)) {
        throw new IllegalStateException("RabbitMQ ended while starting: " + node.output());
      }
      if (listens()) {
        try {
          version = greet(Duration.ofSeconds(10));
          node.ready();
          return;
        } catch (IOException e) {
          // the listener is up before the broker is: ask again
        }
      }
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("RabbitMQ did not start in time: " + node.output());
      }
    }
  }

  private boolean listens() {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(host(), port()), 1_000);
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private String greet(Duration limit) throws IOException {
    ConnectionFactory factory = new ConnectionFactory();
    try {
      factory.setUri(address);
    } catch (GeneralSecurityException e) {
      throw new IOException(e);
    }
    factory.setAutomaticRecoveryEnabled(false);
    factory.setConnectionTimeout((int) limit.toMillis());
    factory.setHandshakeTimeout((int) limit.toMillis());
    try (Connection connection = factory.newConnection("floatvalve-testkit")) {
      return String.valueOf(connection.getServerProperties().get("version"));
    } catch (TimeoutException e) {
      throw new IOException(e);
    }
  }

  /** What the nodes of a cluster share: a secret, and a port mapper that outlives each of them. */
  private static final class Cluster {
    final int epmdPort;
    private final Path folder;
    private final OwnedProcesses processes;
    private final String cookie = UUID.randomUUID().toString().replace("-", "");
    private final AtomicInteger left;

    Cluster(RabbitInstall install, Path scratch, int count) throws IOException {
      left = new AtomicInteger(count);
      folder = install.newFolder(scratch);
      processes = new OwnedProcesses(scratch, folder);
      epmdPort = FreePorts.find(1).get(0);
      Map<String, String> settings = new LinkedHashMap<>();
      settings.put("HOME", install.seen(folder));
      settings.put("ERL_EPMD_PORT", Integer.toString(epmdPort));
      settings.put("ERL_EPMD_ADDRESS", "127.0.0.1");
      Process epmd =
          install
              .command(settings, List.of("epmd"))
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("epmd.out").toFile())
              .start();
      processes.own(epmd.toHandle());
    }

    void giveCookie(Path home) throws IOException {
      Path file = home.resolve(".erlang.cookie");
      Files.writeString(file, cookie);
      Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("r--------"));
    }

    /** Ends the port mapper when the last node is gone. */
    void leave() {
      if (left.decrementAndGet() == 0) {
        end();
      }
    }

    void end() {
      processes.endNow();
      processes.forget();
      deleteAll(folder);
    }
  }

  private static void deleteAll(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
    } catch (IOException | UncheckedIOException e) {
      // a folder left behind under target/ harms nobody
    }
  }

  /** The files and processes of a private node. */
  private static final class Local {
    final int port;
    final Path folder;
    final OwnedProcesses processes;
    private final RabbitInstall install;
    private final Map<String, String> settings;
    private final List<String> configuration;
    private @Nullable Process server;
    private @Nullable ProcessHandle beam;
    private final @Nullable Cluster cluster;
    private boolean paused;

    Local(
        RabbitInstall install, Path scratch, List<String> configuration, @Nullable Cluster cluster)
        throws IOException {
      this.install = install;
      this.configuration = List.copyOf(configuration);
      this.cluster = cluster;
      folder = install.newFolder(scratch);
      processes = new OwnedProcesses(scratch, folder);
      List<Integer> ports = FreePorts.find(3);
      port = ports.get(0);
      List<String> lines = new ArrayList<>();
      lines.add("listeners.tcp.1 = 127.0.0.1:" + port);
      lines.add("log.console = false");
      lines.add("disk_free_limit.absolute = 50MB");
      String own = install.seen(folder);
      configuration.forEach(line -> lines.add(line.replace(OWN_FOLDER, own)));
      Files.write(folder.resolve("rabbitmq.conf"), lines);
      boolean managed = configuration.stream().anyMatch(l -> l.startsWith(MANAGEMENT_PORT));
      Files.writeString(
          folder.resolve("enabled_plugins"), managed ? "[rabbitmq_management].\n" : "[].\n");
      Files.writeString(folder.resolve("env.conf"), "");
      if (cluster != null) {
        cluster.giveCookie(folder);
      }
      String seen = install.seen(folder);
      Map<String, String> map = new LinkedHashMap<>();
      map.put("HOME", seen);
      map.put("LANG", "C.UTF-8");
      map.put("LC_ALL", "C.UTF-8");
      map.put("RABBITMQ_NODENAME", name());
      map.put("RABBITMQ_NODE_PORT", Integer.toString(port));
      map.put("RABBITMQ_DIST_PORT", Integer.toString(ports.get(1)));
      map.put("RABBITMQ_MNESIA_BASE", seen + "/data");
      map.put("RABBITMQ_LOG_BASE", seen + "/log");
      map.put("RABBITMQ_PID_FILE", seen + "/pid");
      map.put("RABBITMQ_ENABLED_PLUGINS_FILE", seen + "/enabled_plugins");
      map.put("RABBITMQ_CONFIG_FILE", seen + "/rabbitmq.conf");
      map.put("RABBITMQ_CONF_ENV_FILE", seen + "/env.conf");
      map.put("ERL_EPMD_PORT", Integer.toString(cluster == null ? ports.get(2) : cluster.epmdPort));
      map.put("ERL_EPMD_ADDRESS", "127.0.0.1");
      map.put("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}");
      settings = Map.copyOf(map);
    }

    /*
     * The port mapper is started by us and stays our child. Erlang would start one itself, but as a
     * daemon whose id nobody knows.
     */
    void launch() throws IOException {
      paused = false;
      beam = null;
      if (cluster == null) {
        Process epmd = run("epmd.out", List.of("epmd"));
        processes.own(epmd.toHandle());
      }
      server = run("server.out", List.of(install.bin() + "/rabbitmq-server"));
      processes.own(server.toHandle());
    }

    /** Returns the name that Erlang knows the node by. */
    String name() {
      return "floatvalve" + port + "@localhost";
    }

    void ready() {
      Process started = server;
      if (started == null) {
        throw new IllegalStateException("not launched");
      }
      Optional<ProcessHandle> found =
          Stream.concat(Stream.of(started.toHandle()), started.descendants())
              .filter(p -> p.info().command().orElse("").endsWith("beam.smp"))
              .findFirst();
      ProcessHandle broker =
          found.orElseThrow(
              () -> new IllegalStateException("RabbitMQ's beam.smp is no child of its script"));
      beam = broker;
      broker.descendants().forEach(processes::own);
      processes.own(broker);
      processes.lead(broker);
    }

    private Process run(String output, List<String> commandLine) throws IOException {
      return install
          .command(settings, commandLine)
          .redirectErrorStream(true)
          .redirectOutput(folder.resolve(output).toFile())
          .start();
    }

    boolean serverEndedWithin(long millis) {
      Process started = server;
      if (started == null) {
        return true;
      }
      try {
        return started.waitFor(millis, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while RabbitMQ was starting", e);
      }
    }

    boolean alive() {
      return beam != null && beam.isAlive();
    }

    private ProcessHandle running() {
      ProcessHandle broker = beam;
      if (broker == null || !broker.isAlive()) {
        throw new IllegalStateException("the node on port " + port + " does not run");
      }
      return broker;
    }

    void signalIfPaused() {
      if (paused && alive()) {
        signal("CONT");
      }
      paused = false;
    }

    void signal(String name) {
      long pid = running().pid();
      try {
        Process kill = new ProcessBuilder("/bin/sh", "-c", "kill -" + name + " " + pid).start();
        if (kill.waitFor() != 0) {
          throw new IllegalStateException("SIG" + name + " could not be sent to process " + pid);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while sending SIG" + name, e);
      }
      paused = name.equals("STOP");
    }

    String ctl(List<String> arguments) {
      running();
      List<String> line = new ArrayList<>();
      line.add(install.bin() + "/rabbitmqctl");
      line.add("-q");
      line.addAll(arguments);
      try {
        Path output = Files.createTempFile(folder, "ctl", ".out");
        Process process = run(output.getFileName().toString(), line);
        boolean ended = process.waitFor(CTL_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        if (!ended) {
          process.descendants().forEach(ProcessHandle::destroyForcibly);
          process.destroyForcibly();
        }
        String text = Files.readString(output);
        Files.delete(output);
        if (!ended || process.exitValue() != 0) {
          throw new IllegalStateException(
              "rabbitmqctl " + arguments + (ended ? " failed: " : " took too long: ") + text);
        }
        return text;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted in rabbitmqctl " + arguments, e);
      }
    }

    List<Long> pids() {
      if (!alive()) {
        return List.of();
      }
      List<Long> pids = new ArrayList<>();
      pids.add(running().pid());
      processes.alive().map(ProcessHandle::pid).filter(p -> !pids.contains(p)).forEach(pids::add);
      return List.copyOf(pids);
    }

    long rssBytes() {
      Path status = Path.of("/proc", Long.toString(running().pid()), "status");
      if (!Files.exists(status)) {
        throw new UnsupportedOperationException("no /proc on this machine");
      }
      try (Stream<String> lines = Files.lines(status)) {
        return lines
            .filter(line -> line.startsWith("VmRSS:"))
            .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
            .findFirst()
            .orElseThrow(() -> new IllegalStateException("no VmRSS in " + status));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    String output() {
      StringBuilder text = new StringBuilder();
      for (Path file : List.of(folder.resolve("server.out"), folder.resolve("epmd.out"))) {
        if (!Files.exists(file)) {
          continue;
        }
        try {
          text.append(Files.readString(file));
        } catch (IOException e) {
          text.append(file).append(": ").append(e);
        }
      }
      return text.toString();
    }

    void delete() {
      processes.forget();
      if (cluster != null) {
        cluster.leave();
      }
      deleteAll(folder);
    }
  }
}
