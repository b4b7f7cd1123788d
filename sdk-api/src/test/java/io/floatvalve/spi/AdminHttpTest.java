package io.floatvalve.spi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class AdminHttpTest {
  private static final Duration LONG = Duration.ofSeconds(30);

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final List<String> secrets = new CopyOnWriteArrayList<>();
  private final CountDownLatch over = new CountDownLatch(1);
  private HttpServer server = serve();

  private HttpServer serve() {
    try {
      HttpServer made =
          HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
      made.setExecutor(threads);
      return made;
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  @BeforeEach
  void start() {
    server.start();
  }

  @AfterEach
  void stop() {
    over.countDown();
    server.stop(0);
    threads.shutdownNow();
  }

  private void answer(String path, int status, String body) {
    server.createContext(
        path,
        exchange -> {
          secrets.add(String.valueOf(exchange.getRequestHeaders().getFirst("Authorization")));
          if (status == 307) {
            exchange.getResponseHeaders().set("Location", base() + "/other");
          }
          byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
          exchange.getResponseBody().write(bytes);
          exchange.close();
        });
  }

  private String base() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private AdminHttp http(Duration timeout, boolean redirected) {
    return new AdminHttp(
        base() + "/", () -> "Bearer s3cret", timeout, redirected ? Set.of() : null);
  }

  private static Json got(AdminHttp http, String path) throws Exception {
    return http.get(path).get(LONG.toSeconds(), TimeUnit.SECONDS);
  }

  @Test
  void answer_isReadAsJson_andTheSecretIsSent() throws Exception {
    answer("/a b", 200, "{\"n\":7}");

    assertThat(got(http(LONG, false), "/" + AdminHttp.encoded("a b")).at("n").number()).hasValue(7);
    assertThat(secrets).containsExactly("Bearer s3cret");
  }

  @Test
  void noSecret_isNoHeader() throws Exception {
    answer("/x", 200, "{}");

    assertThat(got(new AdminHttp(base(), () -> "", LONG, null), "/x").exists()).isTrue();
    assertThat(secrets).containsExactly("null");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/refused", "/text", "/huge", "/nowhere", "/endless", "/silent"})
  void whateverFails_saysWhat_andShowsNoSecret(String path) {
    answer("/refused", 401, "{\"s3cret\":1}");
    answer("/text", 200, "s3cret");
    answer("/huge", 200, "\"" + "x".repeat(9 << 20) + "\"");
    server.createContext(
        "/endless",
        exchange -> {
          exchange.sendResponseHeaders(200, 0);
          OutputStream body = exchange.getResponseBody();
          body.write('"');
          body.flush();
          hang();
        });
    server.createContext("/silent", exchange -> hang());
    boolean hangs = path.equals("/endless") || path.equals("/silent");
    AdminHttp http = http(hangs ? Duration.ofMillis(300) : LONG, false);

    assertThatThrownBy(() -> got(http, path))
        .isInstanceOf(ExecutionException.class)
        .cause()
        .isInstanceOf(IOException.class)
        .hasMessageContaining(path)
        .hasMessageNotContaining("s3cret");
    assertThat(http.toString()).doesNotContain("s3cret");
  }

  private void hang() {
    try {
      over.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void redirect_isFollowedOnlyWhereThatIsWanted() throws Exception {
    answer("/moved", 307, "");
    answer("/other", 200, "{\"here\":true}");

    assertThatThrownBy(() -> got(http(LONG, false), "/moved")).hasMessageContaining("307");
    assertThat(secrets).hasSize(1);
    assertThat(got(http(LONG, true), "/moved").at("here").isTrue()).isTrue();
  }

  /** A broker may send a request on to another; whoever else does would be given our token. */
  @Test
  void redirect_toAHostThatWasNotNamed_isNotFollowed() throws Exception {
    answer("/other", 200, "{\"here\":true}");
    String elsewhere = base().replace("127.0.0.1", "localhost");
    server.createContext(
        "/away",
        exchange -> {
          exchange.getResponseHeaders().set("Location", elsewhere + "/other");
          exchange.sendResponseHeaders(307, -1);
          exchange.close();
        });

    assertThatThrownBy(() -> got(http(LONG, true), "/away"))
        .hasMessageContaining("/away: it was sent on to http://localhost, which was not named");
    assertThat(secrets).isEmpty();
    AdminHttp named =
        new AdminHttp(base(), () -> "Bearer s3cret", LONG, Set.of("localhost", "more"));
    assertThat(got(named, "/away").at("here").isTrue()).isTrue();
    assertThat(secrets).containsExactly("Bearer s3cret");
  }

  @Test
  void redirect_toAnotherScheme_isNotFollowed() {
    server.createContext(
        "/plain",
        exchange -> {
          exchange.getResponseHeaders().set("Location", base().replace("http:", "https:") + "/x");
          exchange.sendResponseHeaders(307, -1);
          exchange.close();
        });

    assertThatThrownBy(() -> got(http(LONG, true), "/plain"))
        .hasMessageContaining("/plain: it was sent on to https://127.0.0.1, which was not named");
  }

  @Test
  void redirect_inACircle_ends() {
    answer("/circle", 307, "");
    server.createContext(
        "/other",
        exchange -> {
          secrets.add("again");
          exchange.getResponseHeaders().set("Location", base() + "/other");
          exchange.sendResponseHeaders(307, -1);
          exchange.close();
        });

    assertThatThrownBy(() -> got(http(LONG, true), "/circle")).hasMessageContaining("307");
    assertThat(secrets).hasSizeLessThan(5);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "http://user:s3cret@host:1",
        "ftp://host",
        "host:80",
        "http://",
        "http://h?s3cret",
        "http://a b s3cret"
      })
  void badAddress_isRefused_withoutBeingShown(String address) {
    assertThatThrownBy(() -> new AdminHttp(address, () -> "", LONG, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageNotContaining("s3cret")
        .hasNoCause();
  }
}
