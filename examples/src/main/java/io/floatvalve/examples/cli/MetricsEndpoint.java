package io.floatvalve.examples.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.floatvalve.consume.Consumer;
import io.floatvalve.metrics.FloatvalveMetrics;
import io.floatvalve.metrics.Health;
import io.floatvalve.metrics.HealthCheck;
import io.floatvalve.publish.Publisher;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * Serves over HTTP: metrics for Prometheus, and for a readiness probe whether all that is shown
 * does its work, with status 200 or 503 and the reasons.
 */
public final class MetricsEndpoint implements AutoCloseable {
  private static final String PATH = "/metrics";
  private static final String FORMAT = "text/plain; version=0.0.4; charset=utf-8";
  private static final String HEALTH_PATH = "/health";
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration LOOK = Duration.ofSeconds(1);
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;
  private static final int NO_SUCH_METHOD = 405;
  private static final int FAILED = 500;
  private static final int DOWN = 503;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final FloatvalveMetrics metrics = FloatvalveMetrics.on(registry);
  private final HealthCheck check = HealthCheck.withPatience(PATIENCE);
  private final ScheduledExecutorService looks;
  private final ExecutorService threads;
  private final HttpServer server;

  private MetricsEndpoint(HttpServer server) {
    this.server = server;
    this.threads = Executors.newFixedThreadPool(2, MetricsEndpoint::daemon);
    this.looks = Executors.newSingleThreadScheduledExecutor(MetricsEndpoint::daemon);
    // What is stuck shows from one look to the next, and nobody may have asked for long.
    var unused =
        looks.scheduleAtFixedRate(
            check::health, LOOK.toMillis(), LOOK.toMillis(), TimeUnit.MILLISECONDS);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  private static Thread daemon(Runnable task) {
    Thread thread = new Thread(task, "metrics");
    thread.setDaemon(true);
    return thread;
  }

  /** Begins to serve at a local address; port 0 takes a free one. */
  static MetricsEndpoint at(String address, int port) {
    try {
      InetAddress local = InetAddress.getByName(address);
      return new MetricsEndpoint(HttpServer.create(new InetSocketAddress(local, port), 0));
    } catch (UnknownHostException e) {
      throw CannotRun.badInput("--metrics-address", address, "is no address of this machine");
    } catch (IOException e) {
      throw CannotRun.badInput(
          "--metrics-port", port, "cannot be served at " + address + ": " + e.getMessage());
    }
  }

  /** Returns where it serves. */
  public URI uri() {
    InetSocketAddress at = server.getAddress();
    String host = at.getAddress().getHostAddress();
    return URI.create(
        "http://" + (host.contains(":") ? "[" + host + "]" : host) + ":" + at.getPort() + PATH);
  }

  /** Shows a publisher, and asks after its health. */
  public void watch(String name, Publisher publisher) {
    metrics.watch(name, publisher);
    check.watch(name, publisher);
  }

  /** Shows a consumer, and asks after its health. */
  public void watch(String name, Consumer consumer) {
    metrics.watch(name, consumer);
    check.watch(name, consumer);
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      int code = OK;
      String text;
      String path = exchange.getRequestURI().getPath();
      boolean health = path.equals(HEALTH_PATH);
      if (!health && !path.equals(PATH)) {
        code = NOT_FOUND;
        text = "metrics are at " + PATH + ", health is at " + HEALTH_PATH + "\n";
      } else if (!exchange.getRequestMethod().equals("GET")) {
        code = NO_SUCH_METHOD;
        text = "only GET\n";
      } else if (health) {
        Health now = check.health();
        code = now.state() == Health.State.DOWN ? DOWN : OK;
        text = words(now);
      } else {
        try {
          text = registry.scrape();
        } catch (RuntimeException e) { // a scraper must see that, not wait for an answer
          code = FAILED;
          text = e + "\n";
        }
      }
      byte[] body = text.getBytes(StandardCharsets.UTF_8);
      exchange
          .getResponseHeaders()
          .set("Content-Type", code == OK && !health ? FORMAT : "text/plain");
      exchange.sendResponseHeaders(code, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  private static String words(Health health) {
    StringBuilder text = new StringBuilder(word(health.state())).append('\n');
    for (Health.Reason each : health.reasons()) {
      text.append(each.who()).append(": ").append(word(each.state()));
      text.append(", ").append(each.why()).append('\n');
    }
    return text.toString();
  }

  private static String word(Health.State state) {
    return state.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public void close() {
    server.stop(0);
    looks.shutdown();
    threads.shutdown();
    metrics.close();
    registry.close();
  }
}
