package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Topics and limits of a Pulsar broker, by its admin REST.
 *
 * <p>A topic is {@code NAME}, which lies in {@code public/default}, or {@code
 * persistent://TENANT/NAMESPACE/NAME}; a namespace is {@code TENANT/NAMESPACE}. Every method waits
 * for the broker's answer, a minute at most, and throws {@link IllegalStateException} with that
 * answer if the broker refuses. Thread-safe.
 */
public final class PulsarRest {
  private static final Duration LIMIT = Duration.ofMinutes(1);
  private static final Pattern TOPIC =
      Pattern.compile("(persistent|non-persistent)://([^/]+)/([^/]+)/(.+)");

  private static final int NOT_FOUND = 404;

  private final String root;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(10))
          .build();

  PulsarRest(String adminUrl) {
    root = adminUrl.replaceAll("/+$", "") + "/admin/v2/";
  }

  /** Creates a topic without partitions. */
  public void createTopic(String topic) {
    send("PUT", topicPath(topic), "");
  }

  /** Creates a topic with partitions. */
  public void createPartitionedTopic(String topic, int partitions) {
    send("PUT", topicPath(topic) + "/partitions", Integer.toString(partitions));
  }

  /** Adds partitions to a topic that has some. */
  public void updatePartitions(String topic, int partitions) {
    send("POST", topicPath(topic) + "/partitions", Integer.toString(partitions));
  }

  /** Returns how many partitions a topic has; 0 for a topic without, or none of that name. */
  public int partitions(String topic) {
    HttpRequest request = request("GET", topicPath(topic) + "/partitions", "");
    HttpResponse<String> answer = exchange(request);
    return answer.statusCode() == NOT_FOUND
        ? 0
        : (int) new PulsarStats(body(request, answer)).number("partitions");
  }

  /** Deletes a topic with its subscriptions, and its partitions if it has some; disconnects all. */
  public void deleteTopic(String topic) {
    String path = topicPath(topic) + (partitions(topic) > 0 ? "/partitions" : "");
    send("DELETE", path + "?force=true", "");
  }

  /** Unloads a topic: its clients are disconnected and look it up again. */
  public void unloadTopic(String topic) {
    send("PUT", topicPath(topic) + "/unload", "");
  }

  /** Creates a subscription that starts after the last message there is now. */
  public void createSubscription(String topic, String subscription) {
    send("PUT", topicPath(topic) + "/subscription/" + encode(subscription), "");
  }

  /** Creates a subscription that starts with the first message there is. */
  public void createSubscriptionFromFirst(String topic, String subscription) {
    send(
        "PUT",
        topicPath(topic) + "/subscription/" + encode(subscription),
        "{\"ledgerId\":-1,\"entryId\":-1,\"partitionIndex\":-1}");
  }

  /** Returns what the broker knows of a topic, or of one partition {@code NAME-partition-N}. */
  public PulsarStats topicStats(String topic) {
    return new PulsarStats(send("GET", topicPath(topic) + "/stats?getPreciseBacklog=true", ""));
  }

  /** Returns the sum over a topic's partitions, and each of them below {@code partitions}. */
  public PulsarStats partitionedStats(String topic) {
    return new PulsarStats(
        send(
            "GET",
            topicPath(topic) + "/partitioned-stats?perPartition=true&getPreciseBacklog=true",
            ""));
  }

  /** Creates a namespace of a tenant that exists. */
  public void createNamespace(String namespace) {
    send("PUT", namespacePath(namespace), "");
  }

  /** Returns the limits of a topic. They hold for each of its partitions by itself. */
  public PulsarLimits topicLimits(String topic) {
    return new PulsarLimits(this, PulsarLimits.Scope.TOPIC, topicPath(topic));
  }

  /** Returns the limits of every topic of a namespace that has none of its own. */
  public PulsarLimits namespaceLimits(String namespace) {
    return new PulsarLimits(this, PulsarLimits.Scope.NAMESPACE, namespacePath(namespace));
  }

  /** Returns the limits of one subscription of a topic: a dispatch rate is all there is. */
  public PulsarLimits subscriptionLimits(String topic, String subscription) {
    String path = topicPath(topic) + "/" + encode(subscription);
    return new PulsarLimits(this, PulsarLimits.Scope.SUBSCRIPTION, path);
  }

  /**
   * Sends a request of the caller's own and returns the body of the answer.
   *
   * @param path below {@code /admin/v2/}, encoded
   * @param json the body; empty for none
   */
  public String send(String method, String path, String json) {
    HttpRequest request = request(method, path, json);
    return body(request, exchange(request));
  }

  private HttpRequest request(String method, String path, String json) {
    HttpRequest.BodyPublisher body =
        json.isEmpty()
            ? HttpRequest.BodyPublishers.noBody()
            : HttpRequest.BodyPublishers.ofString(json, UTF_8);
    return HttpRequest.newBuilder(URI.create(root + path))
        .method(method, body)
        .header("Content-Type", "application/json")
        .timeout(LIMIT)
        .build();
  }

  private HttpResponse<String> exchange(HttpRequest request) {
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofString(UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(request.method() + " " + request.uri(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted in " + request.uri(), e);
    }
  }

  private static String body(HttpRequest request, HttpResponse<String> answer) {
    if (answer.statusCode() / 100 != 2) {
      throw new IllegalStateException(
          request.method()
              + " "
              + request.uri()
              + ": "
              + answer.statusCode()
              + " "
              + answer.body());
    }
    return answer.body();
  }

  private static String topicPath(String topic) {
    String full = topic.contains("://") ? topic : "persistent://public/default/" + topic;
    Matcher parts = TOPIC.matcher(full);
    if (!parts.matches()) {
      throw new IllegalArgumentException("not a topic: " + topic);
    }
    return parts.group(1)
        + "/"
        + encode(parts.group(2))
        + "/"
        + encode(parts.group(3))
        + "/"
        + encode(parts.group(4));
  }

  private static String namespacePath(String namespace) {
    int slash = namespace.indexOf('/');
    if (slash < 1 || slash != namespace.lastIndexOf('/') || slash == namespace.length() - 1) {
      throw new IllegalArgumentException("a namespace is TENANT/NAMESPACE, not " + namespace);
    }
    return "namespaces/" + namespace;
  }

  private static String encode(String part) {
    return URLEncoder.encode(part, UTF_8).replace("+", "%20");
  }
}
