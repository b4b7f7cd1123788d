package io.floatvalve.testkit.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.consume.Delivery;
import io.floatvalve.consume.MessageHandler;
import io.floatvalve.model.Message;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What handlers did with messages that are named by their key and a number, such as {@code a-17}.
 * Thread-safe.
 */
final class Handled {
  /** One call of a handler. */
  record Call(String text, int attempt, boolean redelivered, long beganNanos) {}

  private final List<Call> calls = new ArrayList<>(); // guarded by this
  private final Map<String, Integer> running = new HashMap<>(); // by key; guarded by this
  private final List<String> besides = new ArrayList<>(); // guarded by this
  private int now; // guarded by this
  private int most; // guarded by this
  private int returned; // guarded by this

  static String text(Delivery delivery) {
    return new String(delivery.message().payload(), StandardCharsets.UTF_8);
  }

  private static String key(String text) {
    return text.substring(0, text.lastIndexOf('-'));
  }

  static int number(String text) {
    return Integer.parseInt(text.substring(text.lastIndexOf('-') + 1));
  }

  static Message message(String key, int number) {
    return Message.builder((key + "-" + number).getBytes(StandardCharsets.UTF_8)).key(key).build();
  }

  static List<Message> messages(String key, int from, int to) {
    List<Message> messages = new ArrayList<>();
    for (int i = from; i < to; i++) {
      messages.add(message(key, i));
    }
    return messages;
  }

  /** Returns so many messages of each of so many keys, their keys in turn. */
  static List<Message> inTurn(int keys, int each) {
    List<Message> messages = new ArrayList<>();
    for (int i = 0; i < each; i++) {
      for (int k = 0; k < keys; k++) {
        messages.add(message("k" + k, i));
      }
    }
    return messages;
  }

  static List<String> names(String key, int from, int to) {
    return messages(key, from, to).stream().map(Handled::name).toList();
  }

  private static String name(Message message) {
    return new String(message.payload(), StandardCharsets.UTF_8);
  }

  static Set<String> names(Collection<Message> messages) {
    return messages.stream().map(Handled::name).collect(Collectors.toCollection(HashSet::new));
  }

  /** Returns a handler that does as the given one, and is recorded. */
  MessageHandler by(MessageHandler handler) {
    return delivery -> {
      String text = begin(delivery);
      try {
        return handler.handle(delivery);
      } finally {
        end(text);
      }
    };
  }

  /** A handler begins; returns the message's name. */
  synchronized String begin(Delivery delivery) {
    String text = text(delivery);
    calls.add(new Call(text, delivery.attempt(), delivery.redelivered(), System.nanoTime()));
    if (running.merge(key(text), 1, Integer::sum) > 1) {
      besides.add(text);
    }
    now++;
    most = Math.max(most, now);
    return text;
  }

  /** It is done. */
  synchronized void end(String text) {
    running.merge(key(text), -1, Integer::sum);
    now--;
    returned++;
  }

  synchronized List<Call> calls() {
    return List.copyOf(calls);
  }

  List<Call> calls(String text) {
    return calls().stream().filter(call -> call.text().equals(text)).toList();
  }

  /** Returns the names in the order in which handlers began, repetitions too. */
  List<String> texts() {
    return calls().stream().map(Call::text).toList();
  }

  List<String> texts(String key) {
    return texts().stream().filter(text -> key(text).equals(key)).toList();
  }

  /** Returns how many handlers have begun. */
  synchronized int begun() {
    return calls.size();
  }

  /** Returns how many handlers have returned. */
  synchronized int returned() {
    return returned;
  }

  /** Returns how many different messages handlers have begun with. */
  int distinct() {
    return new HashSet<>(texts()).size();
  }

  synchronized int running() {
    return now;
  }

  /** Returns how many handlers ran at the same time at most. */
  synchronized int mostAtATime() {
    return most;
  }

  /** Returns how many calls were not the first with their message. */
  int repeated() {
    return begun() - distinct();
  }

  /** Holds that each of these was handled once, and nothing else was. */
  void assertOnceEach(Collection<Message> messages) {
    List<String> texts = texts();
    Set<String> expected = names(messages);
    assertNothingMissing(messages);
    assertThat(texts).as("handled").hasSize(expected.size());
  }

  /** Holds that each of these was handled at least once, and nothing else was. */
  void assertNothingMissing(Collection<Message> messages) {
    Set<String> missing = names(messages);
    missing.removeAll(texts());
    assertThat(missing).as("never handled").isEmpty();
    Set<String> unknown = new HashSet<>(texts());
    unknown.removeAll(names(messages));
    assertThat(unknown).as("handled, and never published").isEmpty();
  }

  /** Holds that no two messages of a key were in handlers at the same time. */
  void assertNoKeyBesideItself() {
    synchronized (this) {
      assertThat(besides).as("began while another of its key was in a handler").isEmpty();
    }
  }

  /** Holds that the messages of each key were handled for the first time in their order. */
  void assertFirstInOrder() {
    Map<String, Integer> last = new LinkedHashMap<>();
    for (String text : new LinkedHashSet<>(texts())) {
      Integer before = last.put(key(text), number(text));
      assertThat(before == null ? -1 : before)
          .as("number before the first handling of %s", text)
          .isLessThan(number(text));
    }
  }

  /** Holds that whatever was handled again said that it may have been delivered before. */
  void assertRepeatsWereRedelivered() {
    Set<String> seen = new HashSet<>();
    for (Call call : calls()) {
      if (!seen.add(call.text())) {
        assertThat(call.redelivered()).as("%s", call).isTrue();
      }
    }
  }
}
