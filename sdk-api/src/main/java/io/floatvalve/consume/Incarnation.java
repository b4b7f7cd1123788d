package io.floatvalve.consume;

import io.floatvalve.spi.ReceiveLink;
import org.jspecify.annotations.Nullable;

/** One link of a reception, and what the broker says on it. */
final class Incarnation implements ReceiveLink.Listener {
  private final Reception home;
  final long epoch;
  private final long madeNanos = System.nanoTime();
  private volatile @Nullable ReceiveLink link;
  private volatile boolean lost;
  private volatile boolean connected = true;

  Incarnation(Reception home, long epoch) {
    this.home = home;
    this.epoch = epoch;
  }

  void opened(ReceiveLink link) {
    this.link = link;
  }

  /** Returns the link; only asked for once it is open. */
  ReceiveLink link() {
    ReceiveLink open = link;
    if (open == null) {
      throw new IllegalStateException("the link is not open yet");
    }
    return open;
  }

  boolean isLost() {
    return lost;
  }

  /** Returns how long ago its opening began. */
  long ageNanos() {
    return System.nanoTime() - madeNanos;
  }

  boolean isConnected() {
    return connected && !lost;
  }

  /** Nothing of it counts from here on. */
  void end() {
    lost = true;
  }

  @Override
  public void available() {
    home.wake();
  }

  @Override
  public void disconnected(String detail) {
    connected = false;
    home.disconnected(this, detail);
  }

  @Override
  public void reconnected() {
    connected = true;
    home.reconnected(this);
  }

  @Override
  public void lost(boolean connection, boolean retryable, String detail) {
    lost = true;
    home.lost(this, connection, retryable, detail);
  }
}
