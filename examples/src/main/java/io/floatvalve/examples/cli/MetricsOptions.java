package io.floatvalve.examples.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of commands that can be watched while they run. */
public final class MetricsOptions {
  private static final int LAST_PORT = 65_535;

  @Option(
      names = "--metrics-port",
      paramLabel = "PORT",
      description =
          "Serve metrics for Prometheus at this port, path /metrics, and health for a probe, path"
              + " /health; 0 takes a free one and says which. Default: serve none.")
  private @Nullable Integer port;

  @Option(
      names = "--metrics-address",
      paramLabel = "HOST",
      description = "The local address that serves them; default 127.0.0.1.")
  private String address = "127.0.0.1";

  /**
   * Begins to serve metrics, and says where.
   *
   * @return null if none are wanted
   * @throws CannotRun if the address cannot be had
   */
  public @Nullable MetricsEndpoint open(Console console) {
    Integer given = port;
    if (given == null) {
      return null;
    }
    if (given < 0 || given > LAST_PORT) {
      throw CannotRun.badInput("--metrics-port", given, "must be from 0 to " + LAST_PORT);
    }
    MetricsEndpoint endpoint = MetricsEndpoint.at(address, given);
    console.say("metrics: " + endpoint.uri());
    return endpoint;
  }
}
