package io.floatvalve.examples.cli;

import java.net.URI;
import java.net.URISyntaxException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options of commands that work on Pulsar. */
public final class PulsarOptions {
  @Option(
      names = "--admin-uri",
      paramLabel = "URI",
      description =
          "The admin interface of a --uri, for its version and backlog. Default: port 8080 there.")
  private @Nullable String adminUri;

  /**
   * Returns the address of the admin interface as it was given, or null.
   *
   * @throws CannotRun if it is no address
   */
  public @Nullable String adminUri() {
    String given = adminUri;
    if (given == null) {
      return null;
    }
    try {
      URI parsed = new URI(given);
      boolean http = "http".equals(parsed.getScheme()) || "https".equals(parsed.getScheme());
      if (!http || parsed.getHost() == null) {
        throw CannotRun.badInput(
            "--admin-uri", CannotRun.masked(given), "must be http://host:port or https://");
      }
      return given;
    } catch (URISyntaxException e) {
      throw CannotRun.badInput(
          "--admin-uri", CannotRun.masked(given), "is no URI: " + e.getReason());
    }
  }
}
