package io.floatvalve.consume;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Lets one message of each key be handled at a time, in the order in which they entered. Not
 * thread-safe.
 */
final class Lanes {
  /** The messages of one key. There is one exactly while somebody holds it. */
  static final class Lane {
    private final String key;
    private @Nullable ArrayDeque<Taken> parked;

    private Lane(String key) {
      this.key = key;
    }

    String key() {
      return key;
    }
  }

  private final Map<String, Lane> lanes = new HashMap<>();
  private final ArrayDeque<Taken> ready = new ArrayDeque<>();

  /** Lets a message hold the lane of its key, or parks it behind those before it. */
  boolean enter(String key, Taken t) {
    Lane lane = lanes.get(key);
    if (lane == null) {
      lane = new Lane(key);
      lanes.put(key, lane);
      t.lane = lane;
      t.holdsLane = true;
      return true;
    }
    t.lane = lane;
    if (lane.parked == null) {
      lane.parked = new ArrayDeque<>();
    }
    lane.parked.add(t);
    return false;
  }

  /** The one that held a lane is done: the next one holds it and is ready. */
  void release(Taken t) {
    Lane lane = t.lane;
    if (lane == null || !t.holdsLane) {
      return;
    }
    t.holdsLane = false;
    Taken next = lane.parked == null ? null : lane.parked.poll();
    if (next == null) {
      lanes.remove(lane.key);
    } else {
      next.holdsLane = true;
      ready.add(next);
    }
  }

  /** A message can be handled now: it holds its lane, or has none. */
  void ready(Taken t) {
    ready.add(t);
  }

  /** Returns the next that can be handled, or null. */
  @Nullable Taken pollReady() {
    return ready.poll();
  }

  /** Whether any lane is held. */
  boolean anyHeld() {
    return !lanes.isEmpty();
  }

  /** Forgets all that waits; those that hold a lane and are in a handler go on holding it. */
  void forgetWaiting() {
    ready.clear();
    for (Lane each : lanes.values()) {
      each.parked = null;
    }
  }
}
