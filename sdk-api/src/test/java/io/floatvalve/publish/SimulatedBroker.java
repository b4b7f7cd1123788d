package io.floatvalve.publish;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.function.IntSupplier;
import java.util.function.LongPredicate;
import java.util.function.LongToDoubleFunction;
import org.jspecify.annotations.Nullable;

/**
 * A broker, its network and its publishers in virtual time: the same seed gives the same figures.
 *
 * <p>One server works on one queue. It takes a batch (one message, or all that waits, as the model
 * says), is busy for a fixed time and a time per message and per byte, and then owes the acks.
 * Times are nanoseconds.
 */
final class SimulatedBroker {
  static final long MS = 1_000_000;
  static final long SECOND = 1_000 * MS;

  /** How it works; the defaults are a broker that takes 40 µs a message and acks each batch. */
  static final class Model {
    double messageNanos = 40_000;
    double byteNanos = 5;
    double jitter = 0.5; // part of the service time that is exponential
    double commitNanos; // a fixed time a batch
    int batch = 8; // the most messages a batch
    boolean fair; // takes from its publishers in turn, not in order of arrival
    int lump = 1; // acks are held until so many are owed or nothing waits
    double lumpNanos; // acks are held to the next multiple of this
    LongToDoubleFunction rttNanos = now -> 0;
    LongToDoubleFunction slowness = now -> 1;
    long freezeAt = Long.MAX_VALUE;
    long freezeNanos;
    long strayEvery; // each so many-th message of a flow is answered late
    double strayNanos;
    LongPredicate lost = sequence -> false; // a flow's messages that are never answered
  }

  private record Event(long at, long order, Runnable what) {}

  private record Sent(Flow flow, long sequence, long at, int bytes) {}

  private final Model model;
  private final Random random;
  private final PriorityQueue<Event> events =
      new PriorityQueue<>(Comparator.comparingLong(Event::at).thenComparingLong(Event::order));
  private final List<Flow> flows = new ArrayList<>();
  private final Deque<Sent> queue = new ArrayDeque<>();
  private long now;
  private long order;
  private boolean busy;
  private boolean wakes;
  private int turn;

  SimulatedBroker(Model model, long seed) {
    this.model = model;
    this.random = new Random(seed);
  }

  /** A publisher: its window, and how fast messages come to it. */
  final class Flow {
    private final @Nullable AdaptiveWindow law;
    private final IntSupplier limit;
    private final long clockOffset;
    long everyNanos; // between messages of the application; 0: as many as are taken
    IntSupplier bytes = () -> 100;
    long stopsAt = Long.MAX_VALUE;
    private final Deque<Sent> waiting = new ArrayDeque<>(); // of a fair broker
    private final List<Sent> owed = new ArrayList<>();
    private long sent;
    private long settled;
    private long startedAt;
    private long arrival;
    private long ackArrival;
    private boolean sending;
    private final List<long[]> samples = new ArrayList<>(); // when, round trip
    private final List<long[]> windows = new ArrayList<>(); // when, limit

    private Flow(@Nullable AdaptiveWindow law, int fixed, long offset) {
      this.law = law;
      this.limit = law == null ? () -> fixed : law::limit;
      this.clockOffset = offset;
    }

    AdaptiveWindow law() {
      return Objects.requireNonNull(law);
    }

    private long available() {
      return everyNanos == 0 ? Long.MAX_VALUE : (now - startedAt) / everyNanos;
    }

    private void pump() {
      if (sending || now >= stopsAt || sent - settled >= limit.getAsInt()) {
        return;
      }
      if (sent >= available()) {
        sending = true;
        at(startedAt + (sent + 1) * everyNanos, this::sendNext);
        return;
      }
      sending = true;
      at(now + 8_000, this::sendNext); // what a send costs the publisher
    }

    private void tick() {
      law().tick(now + clockOffset, sent);
      pump();
      at(now + 20 * MS, this::tick);
    }

    private void sendNext() {
      sending = false;
      if (sent - settled < limit.getAsInt()) {
        Sent message = new Sent(this, ++sent, now, bytes.getAsInt());
        arrival = Math.max(arrival + 1, now + (long) (model.rttNanos.applyAsDouble(now) / 2));
        at(arrival, () -> arrived(message));
      }
      pump();
    }

    private void answered(List<Sent> frame) {
      double sum = 0;
      boolean backlog = sent < available();
      for (Sent message : frame) {
        long rtt = now - message.at;
        sum += rtt;
        samples.add(new long[] {now, rtt});
      }
      settled += frame.size();
      if (law != null) {
        law.answered(now + clockOffset, frame.size(), sum, sent, settled, backlog);
        windows.add(new long[] {now, law.limit()});
      }
      pump();
    }

    double perSecond(long from, long to) {
      return samples.stream().filter(s -> s[0] >= from && s[0] < to).count() * 1e9 / (to - from);
    }

    double p50Millis(long from, long to) {
      long[] rtts =
          samples.stream().filter(s -> s[0] >= from && s[0] < to).mapToLong(s -> s[1]).toArray();
      Arrays.sort(rtts);
      return rtts.length == 0 ? 0 : rtts[rtts.length / 2] / 1e6;
    }

    long window(long from, long to) {
      long[] all =
          windows.stream().filter(s -> s[0] >= from && s[0] < to).mapToLong(s -> s[1]).toArray();
      Arrays.sort(all);
      return all.length == 0 ? limit.getAsInt() : all[all.length / 2];
    }

    /** Returns the slowest so long a time in a span, in messages a second. */
    double slowest(long from, long to, long bin) {
      double least = Double.MAX_VALUE;
      for (long t = from; t + bin <= to; t += bin / 2) {
        least = Math.min(least, perSecond(t, t + bin));
      }
      return least;
    }
  }

  long now() {
    return now;
  }

  /** Adds a publisher with the adaptive window. */
  Flow adaptive() {
    return adaptive(0, 0);
  }

  /** Adds one that starts later, or whose clock differs. */
  Flow adaptive(long startsAt, long clockOffset) {
    return start(new Flow(new AdaptiveWindow(10_000), 0, clockOffset), startsAt);
  }

  /** Adds a publisher with a fixed window. */
  Flow fixed(int window) {
    return fixed(window, 0);
  }

  Flow fixed(int window, long startsAt) {
    return start(new Flow(null, window, 0), startsAt);
  }

  private Flow start(Flow flow, long startsAt) {
    flows.add(flow);
    flow.startedAt = startsAt;
    at(startsAt, flow::pump);
    if (flow.law != null) {
      at(startsAt, flow::tick);
    }
    return flow;
  }

  /** Lets the time go on to a moment. */
  void run(long until) {
    while (!events.isEmpty() && events.peek().at <= until) {
      Event event = events.poll();
      now = event.at;
      event.what.run();
    }
    now = until;
  }

  private void at(long time, Runnable what) {
    events.add(new Event(Math.max(time, now), order++, what));
  }

  private void arrived(Sent message) {
    if (model.fair) {
      message.flow.waiting.add(message);
    } else {
      queue.add(message);
    }
    serve();
  }

  private @Nullable Sent poll() {
    if (!model.fair) {
      return queue.poll();
    }
    for (int i = 0; i < flows.size(); i++) {
      Sent next = flows.get(turn++ % flows.size()).waiting.poll();
      if (next != null) {
        return next;
      }
    }
    return null;
  }

  private void serve() {
    if (busy) {
      return;
    }
    if (now >= model.freezeAt && now < model.freezeAt + model.freezeNanos) {
      if (!wakes) {
        wakes = true;
        at(model.freezeAt + model.freezeNanos, this::serve);
      }
      return;
    }
    List<Sent> batch = new ArrayList<>();
    double time = model.commitNanos;
    while (batch.size() < model.batch) {
      Sent next = poll();
      if (next == null) {
        break;
      }
      batch.add(next);
      double one = model.messageNanos + next.bytes * model.byteNanos;
      time += one * (1 - model.jitter - model.jitter * Math.log(1 - random.nextDouble()));
    }
    if (batch.isEmpty()) {
      return;
    }
    busy = true;
    at(now + (long) (time * model.slowness.applyAsDouble(now)), () -> served(batch));
  }

  private void served(List<Sent> batch) {
    busy = false;
    for (Sent message : batch) {
      if (model.lost.test(message.sequence)) {
        continue;
      }
      if (model.strayEvery > 0 && message.sequence % model.strayEvery == 0) {
        at(now + (long) model.strayNanos, () -> ack(message.flow, List.of(message)));
      } else {
        message.flow.owed.add(message);
      }
    }
    serve();
    for (Flow flow : flows) {
      if (!flow.owed.isEmpty() && (flow.owed.size() >= model.lump || !busy)) {
        List<Sent> frame = List.copyOf(flow.owed);
        flow.owed.clear();
        if (model.lumpNanos > 0) {
          long tick = (long) (Math.ceil(now / model.lumpNanos) * model.lumpNanos);
          at(tick, () -> ack(flow, frame));
        } else {
          ack(flow, frame);
        }
      }
    }
  }

  private void ack(Flow flow, List<Sent> frame) {
    flow.ackArrival =
        Math.max(flow.ackArrival + 1, now + (long) (model.rttNanos.applyAsDouble(now) / 2));
    at(flow.ackArrival, () -> flow.answered(frame));
  }
}
