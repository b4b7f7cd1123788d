package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A Pulsar broker for tests: a private broker with one bookie in a JVM of its own, or a broker that
 * somebody gave the address of.
 *
 * <p>A private node has ports and folders of its own, listens on 127.0.0.1 only, and runs beside
 * any other. Its folders lie under the directory named by the system property {@code
 * floatvalve.scratch}, {@code target} by default. It ends with this JVM at the latest, even when
 * this JVM is killed. It runs with batch-index acknowledgement, topic policies and broker entry
 * metadata, and creates topics that are asked for.
 *
 * <p>Which broker: {@code FLOATVALVE_PULSAR} in the environment is the service URL of a given one
 * (for {@link #startOrGiven} and {@link #shared}), {@code FLOATVALVE_PULSAR_ADMIN} the address of
 * its admin REST, {@code http://HOST:8080} by default. A private one runs from the jars listed by
 * floatvalve-testkit-pulsar-broker. They are no dependencies of this library and are looked for in
 * the local Maven repository, or the one that {@code FLOATVALVE_PULSAR_JARS} names; {@code mvn
 * dependency:get -Dartifact=io.floatvalve:floatvalve-testkit-pulsar-broker:VERSION} fetches them.
 *
 * <p>The methods that need the process of the broker throw {@link UnsupportedOperationException}
 * for a given one. Not thread-safe, except for the static methods and the plain getters.
 */
public final class PulsarNode implements AutoCloseable {
  /** Where a broker came from. */
  public enum How {
    /** Its address was given; its process is not ours. */
    GIVEN,
    /** A private node. */
    OWN
  }

  /**
   * The name of the listener under which a private node tells clients the address of its proxy: a
   * client that goes through {@link #openProxy} is built with it as its {@code listenerName}, else
   * it would go round the proxy after its first look-up.
   */
  public static final String PROXY_LISTENER = "tap";

  private static final Duration START_LIMIT = Duration.ofMinutes(2);
  private static final Duration STOP_LIMIT = Duration.ofSeconds(20);

  private static final Set<PulsarNode> OPEN = ConcurrentHashMap.newKeySet();
  private static final Object SHARED_LOCK = new Object();
  // guarded by SHARED_LOCK
  private static @Nullable PulsarNode sharedNode;

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> OPEN.forEach(PulsarNode::endNow), "pulsar-node-exit"));
  }

  private final How how;
  private final URI service;
  private final URI admin;
  private final @Nullable Local local;
  private final PulsarRest rest;
  private volatile boolean shared;

  private PulsarNode(How how, URI service, URI admin, @Nullable Local local) {
    this.how = how;
    this.service = service;
    this.admin = admin;
    this.local = local;
    this.rest = new PulsarRest(admin.toString());
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
    PulsarInstall.Found found = PulsarInstall.find();
    return found.install().isPresent() ? Optional.empty() : Optional.of(found.whyMissing());
  }

  /** Starts a private node with the settings of this class: {@code start(List.of())}. */
  public static PulsarNode start() {
    return start(List.of());
  }

  /**
   * Starts a private node. Returns once clients can connect, typically after 5 seconds on an idle
   * machine.
   *
   * @param configuration settings of the broker that differ, as {@code
   *     allowAutoTopicCreation=false}
   * @throws IllegalStateException if there is nothing to start, see {@link #whyNoProcess}, or the
   *     node does not come up within two minutes; the end of its log is then in the message
   */
  public static PulsarNode start(List<String> configuration) {
    return start(configuration, List.of());
  }

  /**
   * Starts a private node as {@link #start(List)} does, in a JVM with further options. A node's own
   * JVM is small and compiles in one stage, for a quick start: not what to measure against.
   *
   * @param configuration settings of the broker that differ
   * @param jvmOptions come after the node's own, so that {@code -Xmx1g} or {@code
   *     -XX:TieredStopAtLevel=4} take their place; another collector needs {@code -XX:-UseSerialGC}
   *     before it
   * @throws IllegalStateException as {@link #start(List)} does
   */
  public static PulsarNode start(List<String> configuration, List<String> jvmOptions) {
    PulsarInstall.Found found = PulsarInstall.find();
    PulsarInstall install =
        found.install().orElseThrow(() -> new IllegalStateException(found.whyMissing()));
    Path scratch = Path.of(System.getProperty("floatvalve.scratch", "target")).toAbsolutePath();
    OwnedProcesses.endOrphans(scratch);
    try {
      return start(new Local(install, scratch, configuration, jvmOptions));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Starts a private node as {@link #start(List)} does that also listens for TLS, see {@link
   * #tlsServiceUrl}. A client without a certificate of the same authority is refused there.
   *
   * @param authority signs the node's certificate, for {@code localhost}
   * @param doors lead to the node then; a client that goes through the first is built with {@code
   *     door0} as its {@code listenerName}, and so on
   * @param configuration settings of the broker that differ
   * @throws IllegalStateException as {@link #start(List)} does
   */
  public static PulsarNode startWithTls(
      TestAuthority authority, List<TlsDoor> doors, List<String> configuration) {
    PulsarInstall.Found found = PulsarInstall.find();
    PulsarInstall install =
        found.install().orElseThrow(() -> new IllegalStateException(found.whyMissing()));
    Path scratch = Path.of(System.getProperty("floatvalve.scratch", "target")).toAbsolutePath();
    OwnedProcesses.endOrphans(scratch);
    try {
      Local local = new Local(install, scratch, List.of(), List.of());
      local.speakTls(authority, FreePorts.find(1).get(0), doors);
      local.commandLine.addAll(configuration);
      PulsarNode node = start(local);
      doors.forEach(door -> door.to(node.host(), node.port()));
      return node;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static PulsarNode start(Local local) {
    try {
      URI service = URI.create("pulsar://127.0.0.1:" + local.port);
      URI admin = URI.create("http://127.0.0.1:" + local.adminPort);
      PulsarNode node = new PulsarNode(How.OWN, service, admin, local);
      OPEN.add(node);
      boolean up = false;
      try {
        local.boot();
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
   * Returns the broker whose address was given, else starts a private node as {@link #start()}
   * does. Does not try a given one.
   *
   * @throws IllegalStateException if there is no broker
   */
  public static PulsarNode startOrGiven() {
    Optional<String> given = given();
    return given.isPresent() ? of(given.get(), System.getenv(PulsarInstall.GIVEN_ADMIN)) : start();
  }

  /**
   * Returns a handle of a broker at an address, with {@link How#GIVEN}. Connects to nothing.
   *
   * @param serviceUrl as {@code pulsar://host:port}
   * @param adminUrl as {@code http://host:port}; null for port 8080 of the same host
   * @throws IllegalArgumentException if it is no service URL
   */
  public static PulsarNode of(String serviceUrl, @Nullable String adminUrl) {
    URI service = URI.create(serviceUrl);
    boolean pulsar =
        "pulsar".equals(service.getScheme()) || "pulsar+ssl".equals(service.getScheme());
    if (!pulsar || service.getHost() == null) {
      throw new IllegalArgumentException("not a Pulsar service URL: " + serviceUrl);
    }
    boolean noAdmin = adminUrl == null || adminUrl.isBlank();
    URI admin = URI.create(noAdmin ? "http://" + service.getHost() + ":8080" : adminUrl);
    return new PulsarNode(How.GIVEN, service, admin, null);
  }

  /**
   * Returns the one broker that all tests of this JVM share: the first call does what {@link
   * #startOrGiven} does, later ones return the same. If somebody stopped or killed it, it is
   * restarted first. {@link #close} does nothing to it; it ends with the JVM. Callers on several
   * threads wait for each other.
   *
   * @throws IllegalStateException as {@link #startOrGiven} does
   */
  public static PulsarNode shared() {
    synchronized (SHARED_LOCK) {
      PulsarNode node = sharedNode;
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

  /** Returns the address that clients connect to, as {@code pulsar://127.0.0.1:20123}. */
  public String serviceUrl() {
    return service.toString();
  }

  /**
   * Returns the address for TLS of a node that {@link #startWithTls} started, as {@code
   * pulsar+ssl://localhost:20125}.
   *
   * @throws UnsupportedOperationException for any other
   */
  public String tlsServiceUrl() {
    int port = local().tlsPort;
    if (port == 0) {
      throw new UnsupportedOperationException("started without TLS");
    }
    return "pulsar+ssl://localhost:" + port;
  }

  /** Returns the address of the admin REST, as {@code http://127.0.0.1:20124}. */
  public String adminUrl() {
    return admin.toString();
  }

  /** Returns the host: 127.0.0.1 for a private node. */
  public String host() {
    return service.getHost();
  }

  /** Returns the port that clients connect to; the same over the whole life of the node. */
  public int port() {
    if (service.getPort() >= 0) {
      return service.getPort();
    }
    return "pulsar+ssl".equals(service.getScheme()) ? 6651 : 6650;
  }

  /** Returns the admin REST of the broker, to set limits and to look at topics. */
  public PulsarRest rest() {
    return rest;
  }

  /** Tells where the broker came from. */
  public How how() {
    return how;
  }

  /**
   * Opens a proxy before the node, at the port that it tells to clients which name {@link
   * #PROXY_LISTENER}. There can be one at a time; the caller closes it.
   *
   * @throws IllegalStateException if there is one already
   */
  public FaultProxy openProxy() {
    Local node = local();
    try {
      return FaultProxy.announced(node.port, node.proxyPort);
    } catch (IOException e) {
      throw new IllegalStateException("port " + node.proxyPort + " cannot be listened on", e);
    }
  }

  /** Tells whether the broker's process runs, paused or not. */
  public boolean isRunning() {
    return local().alive();
  }

  /**
   * Stops the node in an orderly way and returns once its process has ended, typically after a
   * second; after 20 seconds it is killed. Its data stay for {@link #restart}. Does nothing when it
   * does not run.
   */
  public void stop() {
    local().stop();
  }

  /**
   * Kills broker and bookie with SIGKILL and returns once they are gone. Messages that were
   * confirmed stay for {@link #restart}; of the acknowledgements, those of the last moment may be
   * forgotten.
   */
  public void kill() {
    local().processes.endNow();
  }

  /**
   * Starts the node again on the same ports and data, stopping it first if it runs. Returns once
   * clients can connect.
   *
   * @throws IllegalStateException if it does not come up within two minutes
   */
  public void restart() {
    stop();
    try {
      local().boot();
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
    local().resume();
  }

  /**
   * Returns the id of the broker's process.
   *
   * @throws IllegalStateException if it does not run
   */
  public long pid() {
    return local().running().pid();
  }

  /**
   * Returns the folder of the node's data and its log, {@code broker.log}. It is deleted by {@link
   * #close}.
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
    return "PulsarNode[" + how + " at " + host() + ":" + port() + "]";
  }

  private static Optional<String> given() {
    return Optional.ofNullable(System.getenv(PulsarInstall.GIVEN)).filter(url -> !url.isBlank());
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

  /** The files and the process of a private node. */
  private static final class Local {
    /*
     * Broker and bookie share a small heap and one compiler stage: a test's load is light and the
     * start is what it waits for. Native libraries are unpacked into the node's folder, so that a
     * killed node leaves nothing behind elsewhere.
     */
    private static final List<String> JVM_OPTIONS =
        List.of(
            "-Xmx384m",
            "-XX:MaxDirectMemorySize=256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xshare:auto",
            "-Djava.net.preferIPv4Stack=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
            "-Dorg.slf4j.simpleLogger.showDateTime=true",
            "--add-opens=java.base/jdk.internal.platform=ALL-UNNAMED",
            "--add-opens=java.management/sun.management=ALL-UNNAMED");

    final int port;
    final int adminPort;
    final int proxyPort;
    final Path folder;
    final OwnedProcesses processes;
    private final List<String> commandLine = new ArrayList<>();
    private @Nullable Process broker;
    private boolean paused;
    private int tlsPort;

    Local(PulsarInstall install, Path scratch, List<String> configuration, List<String> jvmOptions)
        throws IOException {
      folder = Files.createDirectories(scratch.resolve("pulsar-" + UUID.randomUUID()));
      processes = new OwnedProcesses(scratch, folder);
      List<Integer> ports = FreePorts.find(4);
      port = ports.get(0);
      adminPort = ports.get(1);
      proxyPort = ports.get(2);
      Path unpacked = Files.createDirectories(folder.resolve("unpacked"));

      commandLine.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
      commandLine.addAll(JVM_OPTIONS);
      commandLine.addAll(jvmOptions);
      commandLine.add("-Djava.io.tmpdir=" + unpacked);
      commandLine.add("-cp");
      commandLine.add(install.classPath(folder.resolve("classes")));
      commandLine.add(PulsarInstall.MAIN);
      commandLine.add(folder.resolve("data").toString());
      commandLine.add(Integer.toString(port));
      commandLine.add(Integer.toString(adminPort));
      commandLine.add(Integer.toString(ports.get(3)));
      commandLine.add("internalListenerName=internal");
      commandLine.add(advertised());
      commandLine.addAll(configuration);
    }

    private String advertised() {
      return "advertisedListeners=internal:pulsar://127.0.0.1:"
          + port
          + ","
          + PROXY_LISTENER
          + ":pulsar://127.0.0.1:"
          + proxyPort;
    }

    void speakTls(TestAuthority authority, int tls, List<TlsDoor> doors) {
      tlsPort = tls;
      authority.write(authority.issue("localhost"), folder, "node");
      StringBuilder listeners = new StringBuilder(advertised());
      listeners.append(",internal:pulsar+ssl://localhost:").append(tls);
      for (int i = 0; i < doors.size(); i++) {
        listeners.append(",door").append(i).append(":pulsar+ssl://localhost:");
        listeners.append(doors.get(i).port());
      }
      commandLine.add(listeners.toString());
      commandLine.add("brokerServicePortTls=" + tls);
      commandLine.add("tlsCertificateFilePath=" + folder.resolve("node-certificate.pem"));
      commandLine.add("tlsKeyFilePath=" + folder.resolve("node-key.pem"));
      commandLine.add("tlsTrustCertsFilePath=" + folder.resolve("node-authority.pem"));
      commandLine.add("tlsRequireTrustedClientCertOnConnect=true");
    }

    void boot() throws IOException {
      paused = false;
      Process started =
          new ProcessBuilder(commandLine)
              .redirectError(ProcessBuilder.Redirect.appendTo(log().toFile()))
              .start();
      broker = started;
      processes.own(started.toHandle());
      processes.lead(started.toHandle());
      CompletableFuture<Boolean> ready = new CompletableFuture<>();
      Thread reader = new Thread(() -> read(started, ready), "pulsar-node-output");
      reader.setDaemon(true);
      reader.start();
      try {
        if (!ready.get(START_LIMIT.toMillis(), TimeUnit.MILLISECONDS)) {
          throw new IllegalStateException("Pulsar ended while starting: " + endOfLog());
        }
      } catch (TimeoutException e) {
        throw new IllegalStateException("Pulsar did not start in time: " + endOfLog(), e);
      } catch (ExecutionException e) {
        throw new IllegalStateException("Pulsar cannot be listened to: " + endOfLog(), e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted while Pulsar was starting", e);
      }
    }

    /** Reads to the end, so that the broker never waits for somebody to read. */
    private static void read(Process broker, CompletableFuture<Boolean> ready) {
      try (BufferedReader lines = broker.inputReader(UTF_8)) {
        for (String line; (line = lines.readLine()) != null; ) {
          if (line.startsWith("READY ")) {
            ready.complete(true);
          }
        }
        ready.complete(false);
      } catch (IOException e) {
        ready.completeExceptionally(e);
      }
    }

    boolean alive() {
      return broker != null && broker.isAlive();
    }

    Process running() {
      Process process = broker;
      if (process == null || !process.isAlive()) {
        throw new IllegalStateException("the node on port " + port + " does not run");
      }
      return process;
    }

    /** The broker ends when its input does. */
    void stop() {
      Process process = broker;
      if (process != null && process.isAlive()) {
        resume();
        try {
          process.getOutputStream().close();
          process.waitFor(STOP_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
        }
      }
      processes.endNow();
    }

    void resume() {
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

    private Path log() {
      return folder.resolve("broker.log");
    }

    private String endOfLog() {
      try {
        List<String> lines = Files.readAllLines(log());
        return String.join("\n", lines.subList(Math.max(0, lines.size() - 40), lines.size()));
      } catch (IOException e) {
        return log() + ": " + e;
      }
    }

    void delete() {
      processes.forget();
      try (Stream<Path> files = Files.walk(folder)) {
        files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
      } catch (IOException | UncheckedIOException e) {
        // a folder left behind under target/ harms nobody
      }
    }
  }
}
