package io.floatvalve.examples;

import io.floatvalve.Messaging;
import io.floatvalve.consume.Consumer;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.latency.LatencyLog;
import io.floatvalve.metrics.FloatvalveMetrics;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.model.MessagingException;
import io.floatvalve.model.Settlement;
import io.floatvalve.publish.Publisher;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.pulsar.PulsarBroker;
import io.floatvalve.rabbit.RabbitBroker;
import io.floatvalve.spi.Broker;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.InputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/**
 * A small and complete run on both brokers with secrets that can be recognised: what it prints,
 * logs and leaves is what {@link SecretsTest} looks through. Runs in a JVM of its own, so that all
 * libraries log at DEBUG. The secrets come by a file.
 */
final class SecretRun {
  private static final int MESSAGES = 20;

  private final Properties given = new Properties();
  private final Path folder;
  private final PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);

  private SecretRun(Path folder) {
    this.folder = folder;
  }

  /** Takes the file of secrets and the folder for what the run leaves. */
  public static void main(String[] args) throws Exception {
    SecretRun run = new SecretRun(Path.of(args[1]));
    try (InputStream in = Files.newInputStream(Path.of(args[0]))) {
      run.given.load(in);
    }
    run.all();
    System.exit(0);
  }

  private String of(String key) {
    return given.getProperty(key);
  }

  private void all() throws Exception {
    var rabbit =
        RabbitBroker.Settings.at(of("rabbit.address"))
            .withCredentials(of("rabbit.user"), of("rabbit.password"));
    out.println(rabbit + " " + new RabbitBroker.Credentials("somebody", of("rabbit.password")));
    out.println(RabbitBroker.Settings.at(of("rabbit.uri")));
    work("rabbit", RabbitBroker.connect(of("rabbit.uri")), Address.queue("secrets"), settings());
    command("perf", "--broker=rabbit", "--uri=" + of("rabbit.uri"), "perf-rabbit");
    fails(() -> RabbitBroker.connect(of("rabbit.wrong")));
    fails(() -> RabbitBroker.connect(of("rabbit.malformed")));
    fails(() -> RabbitBroker.connect("amqps://u:" + of("rabbit.encoded") + "@127.0.0.1:1"));
    fails(
        () ->
            RabbitBroker.connect(
                RabbitBroker.Settings.at("amqps://localhost:" + of("rabbit.port"))
                    .withSslContext(withKeyStore())
                    .withCredentials("u", of("rabbit.password"))));
    command("perf", "--broker=rabbit", "--uri=" + of("rabbit.wrong"), "perf-wrong");

    var pulsar = PulsarBroker.Settings.at(of("pulsar.url")).withToken(() -> of("pulsar.token"));
    out.println(pulsar);
    work(
        "pulsar",
        PulsarBroker.connect(pulsar),
        Address.topic("secrets"),
        ConsumerSettings.from(Address.topic("secrets")).withGroup("s"));
    var wrong = PulsarBroker.Settings.at(of("pulsar.url")).withToken(() -> of("pulsar.wrong"));
    fails(
        () ->
            Messaging.over(PulsarBroker.connect(wrong), event -> out.println(event))
                .publisher(PublisherSettings.to(Address.topic("secrets"))));
    fails(() -> PulsarBroker.connect("pulsar://u:" + of("rabbit.encoded") + "@localhost:1"));
    var views =
        PulsarBroker.Admin.at(of("pulsar.admin")).withToken(() -> of("pulsar.wrong")).views();
    var unused = views.of(List.of(Address.topic("secrets")), "s", "");
    out.println(views);
    var management =
        RabbitBroker.Management.at("http://127.0.0.1:1")
            .withCredentials(() -> new RabbitBroker.Credentials("u", of("rabbit.password")));
    out.println(management + " " + management.views());
  }

  private ConsumerSettings settings() {
    return ConsumerSettings.from(Address.queue("secrets"))
        .withNative(
            RabbitBroker.ConsumeSettings.defaults().withTopology(RabbitBroker.Topology.classic()));
  }

  /** Publishes and consumes, and shows all that can be shown of it. */
  private void work(String name, Broker broker, Address where, ConsumerSettings from)
      throws Exception {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    CountDownLatch handled = new CountDownLatch(MESSAGES);
    try (Messaging messaging = Messaging.over(broker, event -> out.println(event));
        Consumer consumer = messaging.consumer(from);
        LatencyLog log = LatencyLog.open(LatencyLog.Settings.in(folder.resolve(name)))) {
      Publisher publisher = messaging.publisher(PublisherSettings.to(where));
      FloatvalveMetrics metrics = FloatvalveMetrics.on(registry);
      metrics.watch("p", publisher);
      metrics.watch("c", consumer);
      log.watch("p", publisher::latency);
      consumer.handle(
          delivery -> {
            handled.countDown();
            return Settlement.accept();
          });
      for (int i = 0; i < MESSAGES; i++) {
        out.println(publisher.publish(Message.of(new byte[] {1})).get(60, TimeUnit.SECONDS));
      }
      out.println("handled: " + handled.await(60, TimeUnit.SECONDS));
      out.println(publisher.status() + " " + consumer.status());
      out.println(publisher.explain().text() + consumer.explain().text());
      out.println(publisher + " " + consumer + " " + broker + " " + from);
      out.println(registry.scrape());
      out.println(publisher.drain(Duration.ofSeconds(10)));
    }
  }

  private void command(String command, String broker, String uri, String name) {
    Path into = folder.resolve(name);
    int exit =
        Main.run(
            out,
            out,
            command,
            broker,
            uri,
            "--rate=50",
            "--time=1s",
            "--warm-up=0s",
            "--interval=500ms",
            "--verbose",
            "--out=" + into,
            "--json=" + folder.resolve(name + ".json"));
    out.println(name + " ended with " + exit);
  }

  private void fails(Supplier<Object> opening) {
    try {
      out.println("opened: " + opening.get());
    } catch (MessagingException | IllegalArgumentException e) {
      e.printStackTrace(out);
    }
  }

  private SSLContext withKeyStore() {
    try {
      char[] password = of("keystore.password").toCharArray();
      KeyStore store = KeyStore.getInstance("PKCS12");
      store.load(null, password);
      KeyManagerFactory keys = KeyManagerFactory.getInstance("PKIX");
      keys.init(store, password);
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(keys.getKeyManagers(), null, null);
      return context;
    } catch (java.security.GeneralSecurityException | java.io.IOException e) {
      throw new IllegalStateException(e);
    }
  }
}
