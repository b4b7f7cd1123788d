package io.floatvalve.rabbit;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A host and port, and whether TLS is spoken there. */
record Endpoint(String host, int port, boolean tls) {
  private static final int PLAIN_PORT = 5672;
  private static final int TLS_PORT = 5671;

  /**
   * What an AMQP URI says; null where it says nothing.
   *
   * @param virtualHost of the URI's path; a path of {@code /} alone says nothing
   */
  record Parsed(
      Endpoint endpoint,
      @Nullable String username,
      @Nullable String password,
      @Nullable String virtualHost) {
    @Override
    public String toString() {
      return "Parsed[" + endpoint + "]";
    }
  }

  /**
   * Reads {@code amqp[s]://[user[:password]@]host[:port][/vhost]}, percent-encoded.
   *
   * <p>Not by {@link java.net.URI}, which refuses host names with an underscore and repeats the
   * password in its exceptions.
   *
   * @throws IllegalArgumentException names what is wrong; never holds user or password
   */
  static Parsed parse(String uri) {
    int schemeEnd = uri.indexOf("://");
    String scheme = schemeEnd < 0 ? "" : uri.substring(0, schemeEnd);
    boolean tls = scheme.equalsIgnoreCase("amqps");
    if (!tls && !scheme.equalsIgnoreCase("amqp")) {
      throw bad(uri, "must begin with amqp:// or amqps://");
    }
    String rest = uri.substring(schemeEnd + 3);
    if (rest.indexOf('?') >= 0 || rest.indexOf('#') >= 0) {
      throw bad(uri, "must have no query and no fragment: use the settings, or encode ? and #");
    }
    int slash = rest.indexOf('/', rest.lastIndexOf('@') + 1);
    String authority = slash < 0 ? rest : rest.substring(0, slash);
    String path = slash < 0 ? "" : rest.substring(slash + 1);
    if (path.indexOf('/') >= 0) {
      throw bad(uri, "must have one path segment, the virtual host: encode / as %2F");
    }
    int at = authority.lastIndexOf('@');
    String username = null;
    String password = null;
    if (at >= 0) {
      String user = authority.substring(0, at);
      int colon = user.indexOf(':');
      username = decode(uri, colon < 0 ? user : user.substring(0, colon));
      password = colon < 0 ? null : decode(uri, user.substring(colon + 1));
    }
    Endpoint endpoint = hostAndPort(uri, authority.substring(at + 1), tls);
    return new Parsed(endpoint, username, password, path.isEmpty() ? null : decode(uri, path));
  }

  private static Endpoint hostAndPort(String uri, String text, boolean tls) {
    String host;
    String port;
    if (text.startsWith("[")) {
      int end = text.indexOf(']');
      if (end < 0) {
        throw bad(uri, "has a [ without a ]");
      }
      host = text.substring(1, end);
      port = text.substring(end + 1);
    } else {
      int colon = text.indexOf(':');
      host = colon < 0 ? text : text.substring(0, colon);
      port = colon < 0 ? "" : text.substring(colon);
    }
    if (host.isEmpty()) {
      throw bad(uri, "must name a host");
    }
    if (port.isEmpty()) {
      return new Endpoint(host, tls ? TLS_PORT : PLAIN_PORT, tls);
    }
    if (!port.matches(":\\d{1,5}")) {
      throw bad(uri, "must have a port from 1 to 65535, or none");
    }
    int number = Integer.parseInt(port.substring(1));
    if (number < 1 || number > 65_535) {
      throw bad(uri, "must have a port from 1 to 65535, or none"); // it may be a password
    }
    return new Endpoint(host, number, tls);
  }

  private static String decode(String uri, String text) {
    try {
      return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw bad(uri, "has a % that begins no encoded byte"); // e repeats part of the password
    }
  }

  private static IllegalArgumentException bad(String uri, String what) {
    return new IllegalArgumentException("address '" + redacted(uri) + "' " + what);
  }

  /** Returns the scheme alone: in what is not understood, a password may stand anywhere else. */
  private static String redacted(String uri) {
    int scheme = uri.indexOf("://");
    boolean plausible = scheme > 0 && uri.substring(0, scheme).matches("[a-zA-Z]+");
    String shown = plausible ? uri.substring(0, scheme + 3) : "";
    return uri.length() == shown.length() ? uri : shown + "***";
  }

  @Override
  public String toString() {
    return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + port;
  }
}
