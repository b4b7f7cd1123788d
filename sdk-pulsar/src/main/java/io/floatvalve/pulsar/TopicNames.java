package io.floatvalve.pulsar;

/** Names of topics that follow from others. */
final class TopicNames {
  private static final String PARTITION = "-partition-";

  private TopicNames() {}

  /** Returns a topic's full name. */
  static String full(String topic) {
    if (topic.contains("://")) {
      return topic;
    }
    return topic.contains("/") ? "persistent://" + topic : "persistent://public/default/" + topic;
  }

  /** Returns where messages of a subscription wait to be handled again. */
  static String retries(String topic, String subscription) {
    return whole(topic) + "-" + safe(subscription) + "-RETRY";
  }

  /** Returns where messages of a subscription go that are never handled again. */
  static String deadLetters(String topic, String subscription) {
    return whole(topic) + "-" + safe(subscription) + "-DLQ";
  }

  /** Returns the name of the topic of which this may be one partition. */
  static String whole(String topic) {
    int at = topic.lastIndexOf(PARTITION);
    if (at < 0 || at + PARTITION.length() == topic.length()) {
      return topic;
    }
    for (int i = at + PARTITION.length(); i < topic.length(); i++) {
      if (!Character.isDigit(topic.charAt(i))) {
        return topic;
      }
    }
    return topic.substring(0, at);
  }

  /**
   * Returns a subscription's name as part of a topic's: what has a meaning there, a slash above
   * all, becomes {@code =} and its code in four hexadecimal digits. Two names stay two names.
   */
  static String safe(String subscription) {
    StringBuilder safe = new StringBuilder();
    for (int i = 0; i < subscription.length(); i++) {
      char c = subscription.charAt(i);
      boolean plain =
          (c >= 'a' && c <= 'z')
              || (c >= 'A' && c <= 'Z')
              || (c >= '0' && c <= '9')
              || c == '-'
              || c == '_'
              || c == '.'
              || c == ':';
      if (plain) {
        safe.append(c);
      } else {
        safe.append(String.format("=%04X", (int) c));
      }
    }
    return safe.toString();
  }
}
