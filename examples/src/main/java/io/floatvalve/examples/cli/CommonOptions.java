package io.floatvalve.examples.cli;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Options that every command takes. */
public final class CommonOptions {
  /** The variable that names a RabbitMQ where {@code --uri} does not. */
  public static final String RABBIT_VARIABLE = "FLOATVALVE_RABBIT";

  /** The variable that names a Pulsar where {@code --uri} does not. */
  public static final String PULSAR_VARIABLE = "FLOATVALVE_PULSAR";

  private static final List<String> RABBIT_SCHEMES = List.of("amqp", "amqps");
  private static final List<String> PULSAR_SCHEMES = List.of("pulsar", "pulsar+ssl");

  @Option(
      names = "--uri",
      paramLabel = "URI",
      description =
          "An existing broker, such as amqp://user:password@host:5672/vhost or pulsar://host:6650."
              + " Default: the variable "
              + RABBIT_VARIABLE
              + " or "
              + PULSAR_VARIABLE
              + ", else one started for this run alone.")
  private @Nullable String uri;

  @Option(
      names = "--credentials",
      paramLabel = "FILE",
      description =
          "A file whose first line is user:password, for a --uri without them; for Pulsar a token.")
  private @Nullable Path credentials;

  @Option(
      names = "--json",
      paramLabel = "FILE",
      converter = NewFile.class,
      description = "Write checks and figures there.")
  private @Nullable Path json;

  @Option(
      names = "--out",
      paramLabel = "DIR",
      description = "Write latency distributions (.hgrm) and other files there.")
  private @Nullable Path out;

  @Option(names = "--quiet", description = "No progress on stderr.")
  private boolean quiet;

  @Option(names = "--verbose", description = "Stack traces and the libraries' logs on stderr.")
  private boolean verbose;

  /** Returns the file for checks and figures, or null if none is wanted. */
  public @Nullable Path json() {
    return json;
  }

  /** Returns the folder for what a run leaves, or null if none was given. */
  public @Nullable Path out() {
    return out;
  }

  /** Returns whether progress is unwanted. */
  public boolean quiet() {
    return quiet;
  }

  /** Returns whether stack traces are wanted. */
  public boolean verbose() {
    return verbose;
  }

  /** Returns {@code --uri} as it was given, or null. May hold a secret. */
  public @Nullable String givenUri() {
    return uri;
  }

  /**
   * Returns the address of an existing RabbitMQ with its credentials, or null if none was named.
   *
   * @throws CannotRun if it is no address, or its credentials cannot be read
   */
  public @Nullable String rabbitUri() {
    String named = named(RABBIT_VARIABLE);
    if (named == null) {
      return null;
    }
    URI parsed = parse(uri == null ? RABBIT_VARIABLE : "--uri", named, RABBIT_SCHEMES);
    return credentials == null
        ? parsed.toString()
        : withCredentials(parsed, credentials).toASCIIString();
  }

  /**
   * Returns the address of an existing Pulsar, or null if none was named.
   *
   * @throws CannotRun if it is no address
   */
  public @Nullable String pulsarUri() {
    String named = named(PULSAR_VARIABLE);
    if (named == null) {
      return null;
    }
    return pulsar(uri == null ? PULSAR_VARIABLE : "--uri", named);
  }

  /**
   * Returns the address of the RabbitMQ that the variable alone names, or null if it names none.
   *
   * @throws CannotRun if it is no address
   */
  static @Nullable String rabbitUriOfVariable() {
    String named = System.getenv(RABBIT_VARIABLE);
    return named == null || named.isBlank()
        ? null
        : parse(RABBIT_VARIABLE, named.strip(), RABBIT_SCHEMES).toString();
  }

  /**
   * Returns the address of the Pulsar that the variable alone names, or null if it names none.
   *
   * @throws CannotRun if it is no address
   */
  static @Nullable String pulsarUriOfVariable() {
    String named = System.getenv(PULSAR_VARIABLE);
    return named == null || named.isBlank() ? null : pulsar(PULSAR_VARIABLE, named.strip());
  }

  private static String pulsar(String from, String named) {
    URI parsed = parse(from, named, PULSAR_SCHEMES);
    if (parsed.getRawUserInfo() != null) {
      throw CannotRun.badInput(
          from, CannotRun.masked(named), "holds a user; give a token by --credentials instead");
    }
    return parsed.toString();
  }

  /**
   * Returns the first line of the file of credentials, or null if none was given. It is a secret.
   *
   * @throws CannotRun if it cannot be read, or is empty
   */
  public @Nullable String token() {
    Path file = credentials;
    if (file == null) {
      return null;
    }
    String first = firstLine(file);
    if (first.isBlank()) {
      throw CannotRun.badInput("--credentials", file, "its first line must be a token");
    }
    return first.strip();
  }

  private @Nullable String named(String variable) {
    String named = uri == null ? System.getenv(variable) : uri;
    if (named == null || named.isBlank()) {
      if (credentials != null) {
        throw CannotRun.badInput("--credentials", credentials, "given without a --uri");
      }
      return null;
    }
    return named.strip();
  }

  private static URI parse(String from, String text, List<String> schemes) {
    URI parsed;
    try {
      parsed = new URI(text);
    } catch (URISyntaxException e) {
      throw CannotRun.badInput(
          from, unread(text), "is no URI: " + e.getReason() + " at " + e.getIndex());
    }
    String scheme = parsed.getScheme();
    if (scheme == null || !schemes.contains(scheme)) {
      throw CannotRun.badInput(
          from, unread(text), "must begin with " + String.join(":// or ", schemes) + "://");
    }
    if (parsed.getHost() == null) {
      throw CannotRun.badInput(from, unread(text), "names no host");
    }
    if (parsed.getRawQuery() != null || parsed.getRawFragment() != null) {
      throw CannotRun.badInput(from, unread(text), "must have no query and no fragment");
    }
    return parsed;
  }

  /** Returns the scheme alone: in what is not understood, a password may stand anywhere else. */
  private static String unread(String text) {
    int end = text.indexOf("://") + 3;
    return end < 3 ? "***" : end == text.length() ? text : text.substring(0, end) + "***";
  }

  private static URI withCredentials(URI base, Path file) {
    if (base.getRawUserInfo() != null) {
      throw CannotRun.badInput(
          "--credentials", file, "given, but the URI has credentials of its own");
    }
    String line = firstLine(file);
    int colon = line.indexOf(':');
    if (colon < 1) {
      throw CannotRun.badInput("--credentials", file, "its first line must be user:password");
    }
    String userInfo = encoded(line.substring(0, colon)) + ":" + encoded(line.substring(colon + 1));
    String text = base.toString();
    int host = text.indexOf("://") + 3;
    return URI.create(text.substring(0, host) + userInfo + "@" + text.substring(host));
  }

  private static String firstLine(Path file) {
    try {
      List<String> lines = Files.readAllLines(file);
      return lines.isEmpty() ? "" : lines.get(0);
    } catch (IOException e) {
      throw CannotRun.badInput("--credentials", file, "cannot be read: " + CannotRun.whyNoFile(e));
    }
  }

  private static String encoded(String part) {
    return java.net.URLEncoder.encode(part, java.nio.charset.StandardCharsets.UTF_8)
        .replace("+", "%20");
  }
}
