package io.floatvalve.testkit.pulsarbroker;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.conf.ServerConfiguration;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.NoopLoadManager;
import org.apache.pulsar.broker.resources.PulsarResources;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.policies.data.BundlesData;
import org.apache.pulsar.common.policies.data.ClusterData;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.policies.data.TenantInfo;
import org.apache.pulsar.common.util.FieldParser;
import org.apache.pulsar.metadata.bookkeeper.BKCluster;

/**
 * Runs a Pulsar broker with one bookie until its standard input ends.
 *
 * <p>Arguments: the data folder, the port of the binary protocol, the port of the admin REST, the
 * port of the bookie, then any number of {@code key=value} settings of the broker. It listens on
 * 127.0.0.1 only.
 *
 * <p>It prints {@code READY version} once clients can connect, and exits with 0 after an orderly
 * stop. What was written survives the death of this process, not that of the machine: the journal
 * goes to the page cache and is not forced to disk.
 */
public final class BrokerMain {
  private static final String CLUSTER = "floatvalve";
  private static final String LOOPBACK = "127.0.0.1";
  private static final int LARGEST_MESSAGE = 5 << 20; // the broker's default
  private static final int HEADERS = 10 << 10; // what the broker lets a message have on top
  private static final Duration PATIENCE_AT_STOP = Duration.ofSeconds(15);

  private BrokerMain() {}

  /**
   * Runs the broker.
   *
   * @param args folder, broker port, admin port, bookie port, settings
   */
  public static void main(String[] args) {
    try {
      run(args);
      System.exit(0);
    } catch (Exception | LinkageError e) {
      e.printStackTrace();
      Runtime.getRuntime().halt(1); // threads of a half-started broker would keep the JVM alive
    }
  }

  private static void run(String[] args) throws Exception {
    Path folder = Files.createDirectories(Path.of(args[0]).toAbsolutePath());
    String metadata = "rocksdb://" + folder.resolve("metadata");

    BKCluster bookie =
        BKCluster.builder()
            .baseServerConfiguration(bookieConfiguration())
            .metadataServiceUri(metadata)
            .numBookies(1)
            .bkPort(Integer.parseInt(args[3]))
            .dataDir(folder.resolve("bookie").toString())
            .clearOldData(false)
            .build();
    ServiceConfiguration configuration = brokerConfiguration(metadata, args);
    PulsarService broker =
        new PulsarService(configuration, Optional.empty(), Runtime.getRuntime()::halt);
    broker.start();
    createNamespaces(broker);

    PrintStream out = new PrintStream(System.out, true, UTF_8);
    out.println("READY " + broker.getBrokerVersion());
    awaitEndOfInput();
    haltWhenStuck();
    broker.close();
    bookie.close();
  }

  private static ServerConfiguration bookieConfiguration() {
    ServerConfiguration c = new ServerConfiguration();
    c.setAllowLoopback(true);
    c.setListeningInterface("lo");
    c.setAdvertisedAddress(LOOPBACK);
    c.setAllowEphemeralPorts(true);
    c.setJournalSyncData(false);
    c.setJournalFlushWhenQueueEmpty(true);
    c.setProperty("journalPreAllocSizeMB", 4);
    c.setProperty("journalMaxSizeMB", 32);
    c.setNettyMaxFrameSizeBytes(LARGEST_MESSAGE + HEADERS); // the default has no room for headers
    c.setNumAddWorkerThreads(1);
    c.setNumReadWorkerThreads(1);
    c.setDiskUsageThreshold(0.999F);
    c.setDiskUsageWarnThreshold(0.99F);
    c.setMinUsableSizeForEntryLogCreation(1);
    c.setSkipListSizeLimit(32 << 20);
    c.setHttpServerEnabled(false);
    c.setStatisticsEnabled(false);
    return c;
  }

  private static ServiceConfiguration brokerConfiguration(String metadata, String[] args) {
    ServiceConfiguration c = new ServiceConfiguration();
    c.setClusterName(CLUSTER);
    c.setMetadataStoreUrl(metadata);
    c.setConfigurationMetadataStoreUrl(metadata);
    c.setRunningStandalone(true);
    c.setBindAddress(LOOPBACK);
    c.setAdvertisedAddress(LOOPBACK);
    c.setBrokerServicePort(Optional.of(Integer.valueOf(args[1])));
    c.setWebServicePort(Optional.of(Integer.valueOf(args[2])));

    c.setManagedLedgerDefaultEnsembleSize(1);
    c.setManagedLedgerDefaultWriteQuorum(1);
    c.setManagedLedgerDefaultAckQuorum(1);
    c.setManagedLedgerCacheSizeMB(64);
    // Acknowledgements reach the disk at this rate; a kill brings back what was acknowledged since.
    c.setManagedLedgerDefaultMarkDeleteRateLimit(1000);
    c.setManagedLedgerMinLedgerRolloverTimeMinutes(0);
    c.setBookkeeperNumberOfChannelsPerBookie(1);

    c.setLoadBalancerEnabled(false);
    c.setLoadManagerClassName(NoopLoadManager.class.getName());
    c.setDefaultNumberOfNamespaceBundles(1);
    c.setBrokerDeleteInactiveTopicsEnabled(false);
    c.setBrokerShutdownTimeoutMs(0);
    c.setNumIOThreads(2);
    c.setNumHttpServerThreads(4);
    c.setNumExecutorThreadPoolSize(2);
    c.setExposeTopicLevelMetricsInPrometheus(false);
    c.setEnablePackagesManagement(false);
    c.setWebSocketServiceEnabled(false);

    c.setSystemTopicEnabled(true);
    c.setTopicLevelPoliciesEnabled(true);
    c.setAcknowledgmentAtBatchIndexLevelEnabled(true);
    c.setBrokerEntryMetadataInterceptors(
        Set.of(
            "org.apache.pulsar.common.intercept.AppendBrokerTimestampMetadataInterceptor",
            "org.apache.pulsar.common.intercept.AppendIndexMetadataInterceptor"));
    c.setExposingBrokerEntryMetadataToClientEnabled(true);

    for (int i = 4; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      if (equals < 1) {
        throw new IllegalArgumentException("a setting is key=value, not " + args[i]);
      }
      String key = args[i].substring(0, equals);
      String value = args[i].substring(equals + 1);
      c.getProperties().setProperty(key, value);
      FieldParser.update(Map.of(key, value), c);
    }
    return c;
  }

  private static void createNamespaces(PulsarService broker) throws Exception {
    PulsarResources resources = broker.getPulsarResources();
    if (!resources.getClusterResources().clusterExists(CLUSTER)) {
      resources
          .getClusterResources()
          .createCluster(
              CLUSTER,
              ClusterData.builder()
                  .serviceUrl(broker.getWebServiceAddress())
                  .brokerServiceUrl(broker.getBrokerServiceUrl())
                  .build());
    }
    for (String name : List.of("public/default", "pulsar/system")) {
      NamespaceName namespace = NamespaceName.get(name);
      String tenant = namespace.getTenant();
      if (!resources.getTenantResources().tenantExists(tenant)) {
        TenantInfo info = TenantInfo.builder().allowedClusters(Set.of(CLUSTER)).build();
        resources.getTenantResources().createTenant(tenant, info);
      }
      if (!resources.getNamespaceResources().namespaceExists(namespace)) {
        Policies policies = new Policies();
        policies.replication_clusters = Set.of(CLUSTER);
        policies.bundles =
            BundlesData.builder()
                .numBundles(1)
                .boundaries(List.of("0x00000000", "0xffffffff"))
                .build();
        resources.getNamespaceResources().createPolicies(namespace, policies);
      }
    }
  }

  /** The parent holds the other end: this returns when it closes it, and also when it dies. */
  private static void awaitEndOfInput() throws IOException {
    byte[] ignored = new byte[64];
    while (System.in.read(ignored) >= 0) {
      // Nothing is ever said on it.
    }
  }

  private static void haltWhenStuck() {
    Thread watchdog =
        new Thread(
            () -> {
              try {
                TimeUnit.MILLISECONDS.sleep(PATIENCE_AT_STOP.toMillis());
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
              Runtime.getRuntime().halt(2);
            },
            "halt-when-stuck");
    watchdog.setDaemon(true);
    watchdog.start();
  }
}
