package io.floatvalve.rabbit;

import io.floatvalve.spi.PublishLink;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A listener that notes what it hears, in order. */
final class Heard implements PublishLink.Listener {
  final List<String> events = new CopyOnWriteArrayList<>();
  private volatile long confirmedUpTo;

  /** Returns the highest sequence that a confirm named. */
  long confirmedUpTo() {
    return confirmedUpTo;
  }

  boolean has(String part) {
    return events.stream().anyMatch(event -> event.contains(part));
  }

  @Override
  public void confirmed(long sequence, boolean upTo, @Nullable Object receipt) {
    events.add("confirmed " + sequence + (upTo ? "*" : ""));
    confirmedUpTo = Math.max(confirmedUpTo, sequence);
  }

  @Override
  public void nacked(long sequence, boolean upTo, @Nullable String reason) {
    events.add("nacked " + sequence + (upTo ? "*" : ""));
  }

  @Override
  public void returned(
      long sequence, int code, String text, String exchange, String key, boolean failure) {
    events.add(
        "returned "
            + sequence
            + " "
            + code
            + " "
            + text
            + " '"
            + exchange
            + "' '"
            + key
            + "' "
            + (failure ? "failure" : "no failure"));
  }

  @Override
  public void strayReturn(String detail) {
    events.add("stray " + detail);
  }

  @Override
  public void blocked(String reason) {
    events.add("blocked " + reason);
  }

  @Override
  public void unblocked() {
    events.add("unblocked");
  }

  @Override
  public void notSent(long sequence, PublishLink.Unsent why, String detail) {
    events.add("not sent " + sequence + " " + why + " " + detail);
  }

  @Override
  public void unclear(long sequence, String detail) {
    events.add("unclear " + sequence + " " + detail);
  }

  @Override
  public void disconnected(String detail) {
    events.add("disconnected " + detail);
  }

  @Override
  public void reconnected() {
    events.add("reconnected");
  }

  @Override
  public void lost(boolean connection, String detail) {
    events.add("lost " + (connection ? "connection " : "channel ") + detail);
  }
}
