package io.floatvalve.examples.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.floatvalve.metrics.FloatvalveMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Serves metrics for Prometheus over HTTP. */
public final class MetricsEndpoint implements AutoCloseable {
  private static final String PATH = "/metrics";
  private static final String FORMAT = "text/plain; version=0.0.4; charset=utf-8";
  private static final int OK = 200;
  private static final int NOT_FOUND = 404;
  private static final int NO_SUCH_METHOD = 405;
  private static final int FAILED = 500;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final FloatvalveMetrics metrics = FloatvalveMetrics.on(registry);
  private final ExecutorService threads;
  private final HttpServer server;

  private MetricsEndpoint(HttpServer server) {
    this.server = server;
    this.threads =
        Executors.newFixedThreadPool(
            2,
            task -> {
              Thread thread = new Thread(task, "metrics");
              thread.setDaemon(true);
              return thread;
            });
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
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

  /** Returns what is served; whoever opens a publisher or consumer has it watched here. */
  public FloatvalveMetrics metrics() {
    return metrics;
  }

  private void answer(HttpExchange exchange) throws IOException {
    try (exchange) {
      int code = OK;
      String text;
      if (!exchange.getRequestURI().getPath().equals(PATH)) {
        code = NOT_FOUND;
        text = "metrics are at " + PATH + "\n";
      } else if (!exchange.getRequestMethod().equals("GET")) {
        code = NO_SUCH_METHOD;
        text = "only GET\n";
      } else {
        try {
          text = registry.scrape();
        } catch (RuntimeException e) { // a scraper must see that, not wait for an answer
          code = FAILED;
          text = e + "\n";
        }
      }
      byte[] body = text.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", code == OK ? FORMAT : "text/plain");
      exchange.sendResponseHeaders(code, body.length);
      exchange.getResponseBody().write(body);
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdown();
    metrics.close();
    registry.close();
  }
}
