package io.floatvalve.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.floatvalve.testkit.NeedsRabbit;
import io.floatvalve.testkit.RabbitNode;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What commands serve while they run. */
class MetricsTest {
  private static final Duration LONG = Duration.ofSeconds(60);
  private static final Pattern SERVED = Pattern.compile("metrics: (http://\\S+)");

  private final StringWriter out = new StringWriter();
  private final StringWriter err = new StringWriter();
  private final CountDownLatch ended = new CountDownLatch(1);
  private final HttpClient http = HttpClient.newBuilder().connectTimeout(LONG).build();
  private volatile int exit = -1;
  private Thread command = new Thread();

  private void start(String... args) {
    command =
        new Thread(
            () -> {
              exit = Main.run(new PrintWriter(out), new PrintWriter(err), args);
              ended.countDown();
            });
    command.start();
  }

  /** Has it end as a signal would. */
  @AfterEach
  void end() throws InterruptedException {
    command.interrupt();
    command.join(LONG.toMillis());
    assertThat(command.isAlive()).as("%s%s", out, err).isFalse();
  }

  private URI served() {
    await().atMost(LONG).until(() -> SERVED.matcher(out.toString()).find() || exit >= 0);
    Matcher said = SERVED.matcher(out.toString());
    assertThat(said.find()).as("%s%s", out, err).isTrue();
    return URI.create(said.group(1));
  }

  private HttpResponse<String> get(URI uri) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(uri).timeout(LONG).build();
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  /** Scrapes until something of a consumer and of a publisher, if there is one, is served. */
  private List<String> scraped(URI uri, String awaited) {
    return await()
        .atMost(LONG)
        .until(
            () -> get(uri).body().lines().toList(),
            all -> all.stream().anyMatch(line -> line.startsWith(awaited)));
  }

  private static Set<String> names(List<String> scrape) {
    return scrape.stream()
        .filter(line -> !line.startsWith("#") && !line.isEmpty())
        .map(line -> line.split("[ {]", 2)[0].replaceFirst("_seconds_(count|sum|max)$", "_seconds"))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static Set<String> documented(String kind) throws IOException {
    Pattern row = Pattern.compile("^\\| `floatvalve\\.[a-z.]+` \\| `(\\w+)` \\|.*");
    Set<String> names = new TreeSet<>();
    for (String line : Files.readAllLines(Path.of("..", "docs", "operations.md"))) {
      Matcher matcher = row.matcher(line);
      if (matcher.matches() && matcher.group(1).startsWith("floatvalve_" + kind)) {
        names.add(matcher.group(1));
      }
    }
    assertThat(names).isNotEmpty();
    return names;
  }

  private static double value(List<String> scrape, String series) {
    return scrape.stream()
        .filter(line -> line.startsWith(series + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(series.length() + 1)))
        .findAny()
        .orElseThrow(() -> new AssertionError(series + " is not in\n" + String.join("\n", scrape)));
  }

  @Test
  @NeedsRabbit
  void perf_servesWhatIsDocumented_andNothingElse() throws Exception {
    start(
        "perf",
        "--broker=rabbit",
        "--rate=100",
        "--time=60s",
        "--warm-up=0s",
        "--metrics-port=0",
        "--uri=" + RabbitNode.shared().uri());
    URI uri = served();
    List<String> scrape = scraped(uri, "floatvalve_publisher_latency_recent");

    Set<String> documented = documented("");
    assertThat(names(scrape)).isEqualTo(documented);
    String confirmed =
        "floatvalve_publisher_outcomes_total{publisher=\"publisher-1\",reason=\"none\","
            + "verdict=\"confirmed\"}";
    await().atMost(LONG).until(() -> value(scraped(uri, "floatvalve"), confirmed) > 0);
    assertThat(uri.getHost()).isEqualTo("127.0.0.1");
    assertThat(get(uri.resolve("/other")).statusCode()).isEqualTo(404);
  }

  @Test
  @NeedsRabbit
  void consume_servesItsConsumer_untilItEnds() throws Exception {
    start(
        "consume",
        "--broker=rabbit",
        "--feed=100",
        "--metrics-port=0",
        "--uri=" + RabbitNode.shared().uri());
    URI uri = served();
    List<String> scrape = scraped(uri, "floatvalve_consumer_latency_recent");

    assertThat(names(scrape)).isEqualTo(documented("consumer"));
    assertThat(get(uri.resolve("/health")))
        .returns(200, HttpResponse::statusCode)
        .returns("up\n", HttpResponse::body);
    await()
        .atMost(LONG)
        .until(
            () ->
                scraped(uri, "floatvalve").stream()
                    .anyMatch(
                        line -> line.matches("floatvalve_consumer_taken_total\\{.*} [1-9].*")));
    command.interrupt();

    assertThat(ended.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
    assertThat(exit).as("%s%s", out, err).isZero();
  }
}
