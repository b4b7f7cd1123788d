package io.floatvalve.spi;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks a broker's administration interface over HTTP. Never waits; every answer is bounded in time
 * and size. Shows no secret, whatever fails. Thread-safe.
 */
public final class AdminHttp {
  private static final int MOST_BYTES = 8 << 20;
  private static final int OK = 200;
  private static final int MOST_REDIRECTS = 3;
  private static final Set<Integer> MOVED = Set.of(301, 302, 307, 308);

  private final String base;
  private final Supplier<String> authorization;
  private final Duration timeout;
  private final @Nullable Set<String> onward;
  private final HttpClient client;

  /**
   * Asks nothing yet.
   *
   * @param base {@code http://host:port} or {@code https://…}, without user and password
   * @param authorization gives the header for each request, or empty for none: a secret
   * @param timeout for a whole answer, above zero
   * @param onward null if no answer may send a request on; else the hosts, beside that of the base,
   *     to which one may, with the same header. Where there is no header, all are
   * @throws IllegalArgumentException if it is no such address
   */
  public AdminHttp(
      String base, Supplier<String> authorization, Duration timeout, @Nullable Set<String> onward) {
    this.base = checked(base);
    this.authorization = authorization;
    this.timeout = timeout;
    this.onward = onward == null ? null : Set.copyOf(onward);
    this.client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(timeout)
            .followRedirects(HttpClient.Redirect.NEVER) // it would take the header anywhere
            .build();
  }

  private static String checked(String base) {
    try {
      URI uri = new URI(base);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      if (uri.getRawUserInfo() != null || base.contains("@")) {
        throw new IllegalArgumentException("the address holds a user or password; give them apart");
      }
      if (!http || uri.getHost() == null || uri.getRawQuery() != null) {
        throw new IllegalArgumentException("the address must be http://host:port or https://…");
      }
      return base.endsWith("/") ? base.substring(0, base.length() - 1) : base;
    } catch (URISyntaxException e) { // its message would repeat the address, and a secret in it
      throw new IllegalArgumentException("the address is no URI: " + e.getReason());
    }
  }

  /** Returns a part of a path as it stands in a URI. */
  public static String encoded(String part) {
    return URLEncoder.encode(part, UTF_8).replace("+", "%20");
  }

  /**
   * Asks for something.
   *
   * @param path begins with a slash, {@link #encoded} where it must be
   * @return the answer; fails with an {@link IOException} that says what was asked and why there is
   *     none
   */
  public CompletableFuture<Json> get(String path) {
    String secret = authorization.get();
    AtomicReference<CompletableFuture<?>> underWay = new AtomicReference<>();
    return send(URI.create(base + path), secret, MOST_REDIRECTS, underWay)
        .orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
        .handle(
            (response, error) -> {
              if (error != null) {
                CompletableFuture<?> pending = underWay.get();
                boolean unused = pending != null && pending.cancel(true);
                if (error instanceof CompletionException known
                    && known.getCause() instanceof Onward) {
                  throw failed(path, String.valueOf(known.getCause().getMessage()));
                }
                throw failed(path, error.getClass().getSimpleName());
              }
              if (response.statusCode() != OK) {
                throw failed(path, "status " + response.statusCode());
              }
              try {
                return Json.parse(response.body());
              } catch (IllegalArgumentException e) {
                throw failed(path, String.valueOf(e.getMessage()));
              }
            });
  }

  private CompletableFuture<HttpResponse<String>> send(
      URI target, String secret, int redirects, AtomicReference<CompletableFuture<?>> underWay) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(target).timeout(timeout).header("Accept", "application/json");
    if (!secret.isEmpty()) {
      request.header("Authorization", secret);
    }
    CompletableFuture<HttpResponse<String>> sent =
        client.sendAsync(request.build(), info -> new Bounded());
    underWay.set(sent);
    return sent.thenCompose(
        response -> {
          boolean moved = MOVED.contains(response.statusCode());
          if (!moved || onward == null || redirects == 0) {
            return CompletableFuture.completedFuture(response);
          }
          return send(next(target, response, secret), secret, redirects - 1, underWay);
        });
  }

  /** Returns where an answer sends us on to, if we may go there. */
  private URI next(URI from, HttpResponse<?> response, String secret) {
    String location = response.headers().firstValue("Location").orElse("");
    URI next;
    try {
      next = from.resolve(location);
    } catch (IllegalArgumentException e) {
      throw new Onward("it was sent on to what is no address");
    }
    String host = String.valueOf(next.getHost());
    boolean known =
        secret.isEmpty()
            || host.equalsIgnoreCase(from.getHost())
            || (onward != null && onward.stream().anyMatch(host::equalsIgnoreCase));
    if (!known || !from.getScheme().equals(next.getScheme())) {
      throw new Onward(
          "it was sent on to " + next.getScheme() + "://" + host + ", which was not named here");
    }
    return next;
  }

  /** Why it did not go on. */
  private static final class Onward extends RuntimeException {
    private static final long serialVersionUID = 1;

    Onward(String why) {
      super(why);
    }
  }

  private CompletionException failed(String path, String why) {
    return new CompletionException(new IOException("GET " + base + path + ": " + why));
  }

  /** Returns where it asks. */
  @Override
  public String toString() {
    return base;
  }

  /** Collects a body up to a size. */
  private static final class Bounded implements HttpResponse.BodySubscriber<String> {
    private final CompletableFuture<String> body = new CompletableFuture<>();
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    private Flow.@Nullable Subscription subscription;

    @Override
    public CompletionStage<String> getBody() {
      return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      given.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
      for (ByteBuffer each : buffers) {
        if (bytes.size() + each.remaining() > MOST_BYTES) {
          if (subscription != null) {
            subscription.cancel();
          }
          body.completeExceptionally(new IOException("more than " + MOST_BYTES + " bytes"));
          return;
        }
        byte[] copy = new byte[each.remaining()];
        each.get(copy);
        bytes.writeBytes(copy);
      }
    }

    @Override
    public void onError(Throwable error) {
      body.completeExceptionally(error);
    }

    @Override
    public void onComplete() {
      body.complete(bytes.toString(UTF_8));
    }
  }
}
